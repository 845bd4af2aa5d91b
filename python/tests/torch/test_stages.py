"""Stages against the truth: a script that sleeps known times, two ranks, workers, and hooks that fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .conftest import SCRIPTS, hook_environment, report_of, run_bare, run_hooked

# Sleeps in each stage of `sleeps.py`; evaluation and its data wait are one pass.
CALLS = {
    "data_wait": 3 * 8,
    "forward": 3 * 4,
    "backward": 3 * 4,
    "optimizer": 3 * 4,
    "evaluate": 3 * 12,
    "checkpoint": 3,
}


def test_each_stage_takes_what_was_slept_in_it(tmp_path: Path) -> None:
    recorded = run_hooked(["sleeps.py"], tmp_path)
    assert recorded.ending.code == 0, recorded.ending.stderr
    slept = recorded.clock
    for stage, calls in CALLS.items():
        found = recorded.stage(stage)["seconds"]
        assert slept[stage] <= found <= slept[stage] * 1.03 + 0.002 * calls, stage


def test_two_ranks_have_a_ledger_each_with_communication(tmp_path: Path) -> None:
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
    ]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("LAPTIME_")
    } | {"OMP_NUM_THREADS": "1"}
    endings = []
    (tmp_path / "runs").mkdir()
    for extra in ({}, hook_environment(tmp_path)):
        environment.pop("PYTHONPATH", None)
        done = subprocess.run(
            [*torchrun, "ranks.py"],
            env=environment | extra,
            cwd=SCRIPTS,
            capture_output=True,
            timeout=120,
            check=False,
        )
        endings.append((done.returncode, done.stdout))
    assert endings[0] == endings[1]
    assert endings[0][0] == 0
    report = report_of(tmp_path / "runs")
    communication = [row for row in report["ledger"] if row["stage"] == "communication"]
    assert communication and communication[0]["count"] >= 2 * (10 * 4 + 1)
    assert [epoch["steps"] for epoch in report["epochs"]] == [10, 10]
    assert [epoch["samples"] for epoch in report["epochs"]] == [100, 100]
    assert report["transfer"]["between_ranks_bytes"] > 0


def test_workers_record_fetch_transform_and_collate(tmp_path: Path) -> None:
    recorded = run_hooked(["workers.py", "2", "fork", "persistent"], tmp_path)
    assert recorded.ending.code == 0, recorded.ending.stderr
    logs = b"".join(path.read_bytes() for path in (tmp_path / "runs").glob("latest/*.ltlog"))
    for stage in (b"fetch", b"transform", b"collate"):
        assert logs.count(stage) >= 2, stage


BROKEN = """
import sys
from laptime import _training
def boom(*args):
    raise RuntimeError("ours")
for name in sys.argv.pop().split(","):
    getattr(_training.Training, name)
    setattr(_training.Training, name, boom)
import runpy
sys.argv = ["loader.py"]
runpy.run_path("loader.py", run_name="__main__")
"""

NOTES = (
    "register_model",
    "record_eval_mode",
    "in_eval_mode",
    "optimizer_created",
    "settle_update",
    "end_fit",
)


def test_a_hook_that_fails_is_switched_off_and_the_script_goes_on(tmp_path: Path) -> None:
    bare = run_bare(["loader.py"])
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("LAPTIME_")
    } | hook_environment(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", BROKEN, ",".join(NOTES)],
        env=environment | {"OMP_NUM_THREADS": "1"},
        cwd=SCRIPTS,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == bare.code == 0
    assert done.stdout.decode() == bare.stdout
    assert b"ours" not in done.stderr


def test_a_sitecustomize_that_was_there_still_runs(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "sitecustomize.py").write_text("print('theirs', __name__)\n")
    environment = os.environ | hook_environment(tmp_path)
    environment["PYTHONPATH"] += os.pathsep + str(tmp_path / "theirs")
    command = [sys.executable, "-c", "import sys; print(sys.modules['sitecustomize'].__file__)"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "theirs sitecustomize",
        str(tmp_path / "theirs" / "sitecustomize.py"),
    ]


def test_the_hook_imports_no_framework_and_leaves_a_plain_script_alone(tmp_path: Path) -> None:
    environment = os.environ | hook_environment(tmp_path)
    command = [sys.executable, "-c", "import sys; print({'torch', 'laptime'} & set(sys.modules))"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")
    assert not (tmp_path / "runs").exists()
