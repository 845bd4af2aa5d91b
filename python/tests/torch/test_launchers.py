"""Ranks that real launchers start on one machine or several are ranks of one launch, also when they are killed."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from . import watched
from .exchanged import Exchanged, exchanged, ranks

TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]
LAPTIME_RUN = [*watched.LAPTIME, "run"]
MPIRUN = shutil.which("mpirun")


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


def run_of(folder: Path) -> tuple[dict[str, Any], list[Exchanged]]:
    """The only run in a folder: its description, and the logs of its ranks."""
    (run,) = [path for path in (folder / "runs").glob("2*") if path.is_dir()]
    return json.loads((run / "run.json").read_text()), ranks(run)


def exchanged_alike(logs: list[Exchanged]) -> list[tuple[str, int, int]]:
    """What every rank has exchanged, which is the same."""
    alike = [
        sorted((one.kind, one.sequence, one.bytes) for one in log.collectives if one.bytes != 0)
        for log in logs
    ]
    reduced = [[one for one in of_rank if one[0] == "all_reduce"] for of_rank in alike]
    assert all(of_rank == reduced[0] for of_rank in reduced)
    return reduced[0]


def test_two_nodes_of_two_ranks_are_one_launch(tmp_path: Path) -> None:
    port = free_port()
    nodes = []
    for node in range(2):
        # Machines that share no disk.
        folder = tmp_path / f"node-{node}"
        folder.mkdir()
        words = ["--nnodes", "2", "--nproc-per-node", "2", "--rdzv-backend", "c10d"]
        words += ["--rdzv-id", "job-7", "--rdzv-endpoint", f"localhost:{port}"]
        command = [*TORCHRUN, *words, "-m", "laptime", "run", "launched.py"]
        nodes.append((folder, watched.start(command, folder)))
    for _, started in nodes:
        _, err = started.communicate(timeout=240)
        assert started.returncode == 0, err.decode()
    runs = [run_of(folder) for folder, _ in nodes]
    launches = {description["launch"] for description, _ in runs}
    assert len(launches) == 1 and launches.pop().startswith("torchrun:job-7:")
    assert all(description["ranks"] == 4 for description, _ in runs)
    logs = [log for _, found in runs for log in found]
    assert sorted(log.process["rank"] for log in logs) == [0, 1, 2, 3]
    # Nine elements of four bytes in each of ten steps.
    assert [size for _, _, size in exchanged_alike(logs)] == [36] * 10


@pytest.mark.skipif(MPIRUN is None, reason="Open MPI's mpirun is not installed")
@pytest.mark.parametrize("each", [False, True], ids=["laptime-run-mpirun", "mpirun-laptime-run"])
def test_ranks_of_open_mpi_are_one_run(tmp_path: Path, each: bool) -> None:
    mpirun = [str(MPIRUN), "--oversubscribe", "-n", "2"]
    # mpirun wants to hear twice that it may run as root.
    may = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    script = [sys.executable, "launched.py"]
    words = (
        [*mpirun, *LAPTIME_RUN, "--", *script] if each else [*LAPTIME_RUN, "--", *mpirun, *script]
    )
    code, out, err = watched.run(words, tmp_path, MASTER_PORT=free_port(), **may)
    assert code == 0, err
    assert sorted(line.split()[0] for line in out.splitlines()) == ["0", "1"]
    description, logs = run_of(tmp_path)
    assert [log.process["rank"] for log in logs] == [0, 1]
    names = {log.process["told"]["launch"] for log in logs}
    assert len(names) == 1 and names.pop().startswith("mpirun:")
    assert not each or description["ranks"] == 2
    assert len(exchanged_alike(logs)) == 10


def test_ranks_that_a_script_starts_itself_are_ranks(tmp_path: Path) -> None:
    words = [*LAPTIME_RUN, "--", sys.executable, "launched.py", "spawn"]
    code, _, err = watched.run(words, tmp_path, MASTER_PORT=free_port())
    assert code == 0, err
    _, logs = run_of(tmp_path)
    assert [log.process["rank"] for log in logs] == [0, 1]
    assert len(exchanged_alike(logs)) == 10


def test_ranks_that_are_started_again_say_so(tmp_path: Path) -> None:
    torchrun = [*TORCHRUN, "--nproc-per-node", "2", "--max-restarts", "1", "--standalone"]
    words = [*LAPTIME_RUN, "--", *torchrun, "launched.py", "fail"]
    code, out, err = watched.run(words, tmp_path, TMPDIR=str(tmp_path))
    assert code == 0 and len(out.splitlines()) == 2, err
    (run,) = [path for path in (tmp_path / "runs").glob("2*") if path.is_dir()]
    logs = [exchanged(log) for log in sorted(run.glob("rank-*.000001.ltlog"))]
    found = sorted((log.process["rank"], log.process.get("restart", 0)) for log in logs)
    assert found == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert len({log.process["told"]["launch"] for log in logs}) == 1
    # Whoever started them is no process of the run, as it is of a loader's workers.
    pids = {log.process["pid"] for log in logs}
    assert not pids & {log.process.get("parent") for log in logs}


@pytest.mark.parametrize("killed", ["a-rank", "the-launcher", "all"])
def test_a_run_of_killed_ranks_opens_and_says_who_died_where(tmp_path: Path, killed: str) -> None:
    torchrun = [*TORCHRUN, "--nproc-per-node", "2", "--master-port", free_port()]
    words = [*LAPTIME_RUN, "--", *torchrun, "launched.py", str(tmp_path)]
    running = watched.start(words, tmp_path)
    pids = [watched.wait_for(tmp_path / f"rank-{rank}", running) for rank in range(2)]
    launcher = Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()[1]
    everybody = [*watched.descendants(running.pid)]
    if killed == "a-rank":
        watched.kill([pids[1]])
    elif killed == "the-launcher":
        watched.kill([int(launcher)])
        watched.kill([pid for pid in pids if Path(f"/proc/{pid}").exists()])
    else:
        watched.kill([running.pid, *everybody])
    running.communicate(timeout=120)
    document, _ = watched.report(tmp_path)
    assert document["run"]["status"] in ("failed", "killed")
    deaths = {death["rank"]: death for death in document["deaths"] if death["part"] == "rank"}
    assert deaths[1]["pid"] == pids[1] and deaths[1]["step"] == 2
    assert os.path.isdir(tmp_path / "runs" / "latest")
    _, logs = run_of(tmp_path)
    # Two steps were exchanged by both; rank 0 waits for the third in vain.
    assert all(
        len([one for one in log.collectives if one.kind == "all_reduce"]) >= 2 for log in logs
    )
