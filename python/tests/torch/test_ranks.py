"""Ranks share one run, however they are launched, and the first tells of all of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from . import watched

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
LAPTIME_RUN = [*watched.LAPTIME, "run"]
FORMS = {
    "laptime-run-torchrun": [*LAPTIME_RUN, "--", *TORCHRUN, "--standalone", "uneven.py"],
    "torchrun-laptime-run": [*TORCHRUN, "--standalone", "-m", "laptime", "run", "uneven.py"],
    "torchrun-with-a-port": [
        *TORCHRUN,
        "--master-port",
        "29517",
        "-m",
        "laptime",
        "run",
        "uneven.py",
    ],
}


def check(folder: Path, said: str) -> dict[str, Any]:
    """One run, a log for each rank, a ledger for each rank that closes, and a table of both."""
    (run,) = [path for path in (folder / "runs").glob("2*") if path.is_dir()]
    logs = {path.name for path in run.glob("*.000001.ltlog")}
    assert {"rank-00000.000001.ltlog", "rank-00001.000001.ltlog"} <= logs
    document, text = watched.report(folder)
    assert document["run"]["status"] == "finished" and document["run"]["ranks"] == 2
    ranks = document["ranks"]
    assert [rank["rank"] for rank in ranks] == [0, 1]
    for rank in ranks:
        assert sum(row["seconds"] for row in rank["ledger"]) == pytest.approx(
            rank["wall_s"], rel=1e-3
        )
        assert rank["steps"] == 20 and rank["samples_per_s"] > 0
    seen = document["communication"] is not None
    for shown in (text, said):
        rows = [line.split() for line in shown.splitlines()]
        words_of_head = ["rank", "step" if seen else "wall"]
        (head,) = [at for at, words in enumerate(rows) if words[:2] == words_of_head]
        assert [words[0] for words in rows[head + 1 : head + 3]] == ["0", "1"]
        late = "rank 1 is the limit: its forward takes" if seen else "slowest: rank 1"
        assert late in " ".join(shown.split())
    assert said.count("run kept in") == 1
    return document


@pytest.mark.parametrize("form", FORMS)
def test_two_ranks_under_torchrun_are_one_run_with_a_ledger_each(tmp_path: Path, form: str) -> None:
    code, out, err = watched.run(FORMS[form], tmp_path)
    assert code == 0, err
    assert out == "0 10\n1 10\n"
    document = check(tmp_path, err)
    assert document["slowest_rank"] == 1
    for rank in document["ranks"]:
        stages = {row["stage"]: row for row in rank["ledger"]}
        assert stages["communication"]["count"] == 20
    # Rank 1 sleeps 30 ms in each forward pass; rank 0 waits for it.
    own, waiting = (
        next(row["seconds"] for row in rank["ledger"] if row["stage"] == stage)
        for rank, stage in (
            (document["ranks"][1], "forward"),
            (document["ranks"][0], "communication"),
        )
    )
    assert own >= 20 * 0.030 and waiting >= 0.9 * 20 * 0.030


@pytest.mark.parametrize(
    "launcher",
    [
        {"SLURM_PROCID": "{rank}", "SLURM_NTASKS": "2", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"},
        {"SLURM_PROCID": "{rank}", "SLURM_NTASKS": "2"},
        {"OMPI_COMM_WORLD_RANK": "{rank}", "OMPI_COMM_WORLD_SIZE": "2"},
        # What DeepSpeed's launcher and `accelerate launch` give.
        {"RANK": "{rank}", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "7"},
    ],
    ids=["slurm", "slurm-without-a-job", "ompi", "deepspeed"],
)
@pytest.mark.parametrize("supervised", [True, False], ids=["laptime-run", "bare"])
def test_other_launchers_ranks_share_a_run_too(
    tmp_path: Path, launcher: dict[str, str], supervised: bool
) -> None:
    words = [*LAPTIME_RUN, "apart.py"] if supervised else [sys.executable, "apart.py"]
    started = []
    # The last first: whoever comes first makes the run.
    for rank in (1, 0):
        variables = {name: value.replace("{rank}", str(rank)) for name, value in launcher.items()}
        started.append(watched.start(words, tmp_path, **variables))
    ends = [process.communicate(timeout=120) for process in started]
    assert [process.returncode for process in started] == [0, 0], ends
    assert ends[0][1] == b"", "only rank 0 speaks"
    said = ends[1][1].decode()
    if not supervised:
        # A recorder alone says only where the run is.
        assert said.count("run kept in") == 1
        said = watched.report(tmp_path)[1]
    check(tmp_path, said)
