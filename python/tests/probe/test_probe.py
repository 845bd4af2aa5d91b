"""`LAPTIME_PROBE`: a script that is only tried notices nothing, and leaves the user's files as they are."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from side_by_side import run

from .conftest import contents, environment, make_project, try_beside_bare


def test_files_stay_as_they_are_and_the_script_sees_what_it_wrote(tmp_path: Path) -> None:
    tried = try_beside_bare("files.py", tmp_path)
    assert tried.ending.code == 1
    project = str(tmp_path / "tried" / "project")
    written = tried.scratch / "files" / project.lstrip("/")
    assert (written / "model.pt").read_text() == "checkpoint"
    # Only what was written in a temporary folder was written where it is.
    assert not [path for path in tried.lines("opened.txt") if path.startswith(project)]


def test_processes_of_a_script_see_each_other(tmp_path: Path) -> None:
    try_beside_bare("children.py", tmp_path)


def test_what_cannot_be_redirected_is_written_where_it_is_and_listed_once(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project", "left_alone.py")
    outside, cache = tmp_path / "outside", tmp_path / "cache"
    for made in (outside, cache):
        made.mkdir()
    (outside / "there.txt").write_text("as it was")
    before = contents(folder)
    variables = {"OUTSIDE": str(outside), "XDG_CACHE_HOME": str(cache), "TMPDIR": str(tmp_path)}
    ending = run([sys.executable, "left_alone.py"], environment(tmp_path) | variables, folder)
    assert (ending.code, ending.stderr) == (0, "through a pipe\n")
    opened = (tmp_path / "scratch" / "opened.txt").read_text().splitlines()
    expected = [outside / "new.txt", cache / "cached", folder / "train.lock", folder / "runs.db"]
    assert opened == [str(path) for path in expected]
    assert (outside / "there.txt").read_text() == "as it was"
    after = contents(folder)
    after.pop("runs.db")
    assert after == before


def test_an_interrupt_in_the_middle_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project", "endless.py")
    before = contents(folder)
    for _ in range(5):
        child = subprocess.Popen(
            [sys.executable, "endless.py"],
            env=environment(tmp_path),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=60)
        assert child.returncode == -signal.SIGINT
        assert error.endswith("KeyboardInterrupt\n")
        assert contents(folder) == before


def test_where_the_probe_cannot_keep_anything_the_script_runs_all_the_same(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project", "children.py")
    taken = tmp_path / "taken"
    taken.write_text("a file, no folder")
    ending = run(
        [sys.executable, "children.py"],
        environment(tmp_path) | {"LAPTIME_PROBE": str(taken)},
        folder,
    )
    assert (ending.code, ending.stderr) == (0, "")


def test_trackers_run_offline(tmp_path: Path) -> None:
    source = "import os, json; print(json.dumps(dict(os.environ)))"
    asked = environment(tmp_path) | {"WANDB_MODE": "online", "NEPTUNE_MODE": "debug"}
    ending = run([sys.executable, "-c", source], asked, tmp_path)
    found = json.loads(ending.stdout)
    assert found["WANDB_MODE"] == "offline"
    # What is off the network already stays as the user wants it.
    assert found["NEPTUNE_MODE"] == "debug"
    kept = str(tmp_path / "scratch" / "trackers")
    assert found["WANDB_DIR"] == f"{kept}/wandb"
    assert found["MLFLOW_TRACKING_URI"] == f"file:{kept}/mlflow"


@pytest.mark.parametrize(
    ("script", "package"),
    [("with_torch.py", "torch"), ("with_keras.py", "tensorflow")],
)
def test_what_a_framework_writes_goes_to_the_scratch_folder(
    script: str, package: str, tmp_path: Path
) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    try_beside_bare(script, tmp_path)


def test_the_checkpoints_of_a_trainer_go_to_the_scratch_folder(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = make_project(tmp_path / "project", "with_transformers.py")
    before = contents(folder)
    ending = run([sys.executable, "with_transformers.py"], environment(tmp_path), folder)
    found = [line for line in ending.stdout.splitlines() if line.startswith("FOUND")]
    assert ending.code == 0, ending.stderr[-2000:]
    assert found[0].startswith("FOUND ['checkpoint-6']")
    assert "model.safetensors" in found[0]
    assert "model.safetensors" in found[1]
    assert contents(folder) == before
