"""TensorBoard's own loader reads every scalar that laptime writes, also of a run that was killed."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Script

pytest.importorskip("tensorboard")

import event_files
from event_files import LAPTIME, equal, equal_live

PATIENCE = 60.0


@pytest.mark.parametrize("run", ["demo", "sizes", "killed"])
def test_every_scalar_of_a_kept_run_is_what_its_report_says(run: str, tmp_path: Path) -> None:
    assert event_files.export(event_files.FIXTURES, run, tmp_path).returncode == 0
    document = event_files.report(event_files.FIXTURES, run)
    folders = event_files.fit_folders(tmp_path)
    assert len(folders) == len(document["fits"])
    for fit, folder in enumerate(folders):
        assert equal(event_files.points(folder), event_files.expected(document, fit))


def test_the_server_takes_them_for_scalars_with_a_description(tmp_path: Path) -> None:
    event_files.export(event_files.FIXTURES, "demo", tmp_path)
    (path,) = tmp_path.rglob("*tfevents*")
    first, second, *_ = event_files.events(path)
    assert first.file_version == "brain.Event:2"
    for value in second.summary.value:
        assert value.metadata.plugin_data.plugin_name == "scalars"
        assert value.metadata.summary_description and value.metadata.data_class == 1


def test_a_file_cut_at_any_byte_is_read_up_to_there(script: Script, tmp_path: Path) -> None:
    done = script("import laptime\nfor epoch in laptime.epochs(3):\n    pass")
    run = Path(done.run.path).name
    assert event_files.export(done.folder, run, tmp_path / "board").returncode == 0
    (path,) = (tmp_path / "board").rglob("*tfevents*")
    whole = path.read_bytes()
    ends, at = [], 0
    while at < len(whole):
        at += 16 + struct.unpack_from("<Q", whole, at)[0]
        ends.append(at)
    assert len(ends) == 4, "the version and three epochs"
    cut_file = tmp_path / "events.out.tfevents.cut"
    for cut in range(len(whole) + 1):
        cut_file.write_bytes(whole[:cut])
        assert len(event_files.events(cut_file)) == sum(end <= cut for end in ends), cut


TRAINING = """
import os, sys, time
import laptime

def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.01)

for fit in range(2):
    for epoch in laptime.epochs(4, rows=40, batch=4, label=["warm up", "main"][fit]):
        for batch in laptime.batches([[0] * 4] * 10):
            time.sleep(0.001)
        laptime.measured("loss", 1.0 / (1 + epoch))
        if (fit, epoch) == (1, 2):
            wait_for(sys.argv[1])
"""


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Starts laptime in a folder, with nothing of it in the environment."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LAPTIME_")}
    (folder / "training.py").write_text(TRAINING)
    return subprocess.Popen(
        [*LAPTIME, *words],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def until(there: Callable[[], bool]) -> None:
    """Waits for something that another process does."""
    end = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < end
        time.sleep(0.05)


def steps(folder: Path, fit: int) -> set[int]:
    """The epochs that are there of a fit."""
    of_fit = [
        path for path in event_files.fit_folders(folder) if path.name.startswith(f"fit-{fit + 1}")
    ]
    return {step for path in of_fit for _, step in event_files.points(path)}


def test_epochs_appear_while_the_command_runs_and_are_those_of_its_report(tmp_path: Path) -> None:
    board = tmp_path / "board"
    running = start(
        tmp_path, *"run --tensorboard board --".split(), sys.executable, "training.py", "go"
    )
    until(lambda: steps(board, 0) == {0, 1, 2, 3} and steps(board, 1) == {0, 1})
    (tmp_path / "go").touch()
    _, said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    assert "TensorBoard: 8 epochs in board; tensorboard --logdir board" in said
    document = event_files.report(tmp_path / ".laptime")
    folders = event_files.fit_folders(board)
    assert [folder.name for folder in folders] == ["fit-1", "fit-2-main"]
    for fit, folder in enumerate(folders):
        assert equal_live(event_files.points(folder), event_files.expected(document, fit))


def test_a_run_killed_at_once_with_everything_around_it_is_read_up_to_there(tmp_path: Path) -> None:
    board = tmp_path / "board"
    running = start(
        tmp_path, *"run --tensorboard board --".split(), sys.executable, "training.py", "never"
    )
    until(lambda: steps(board, 1) == {0, 1})
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=PATIENCE)
    live = [event_files.points(folder) for folder in event_files.fit_folders(board)]
    document = event_files.report(tmp_path / ".laptime")
    assert document["run"]["status"] == "killed"
    for fit in range(2):
        assert equal_live(live[fit], event_files.expected(document, fit))
    # What was written live is replaced by the same, not told twice.
    assert event_files.export(tmp_path / ".laptime", document["run"]["id"], board).returncode == 0
    for fit, folder in enumerate(event_files.fit_folders(board)):
        assert equal(event_files.points(folder), event_files.expected(document, fit))
        assert len(list(folder.iterdir())) == 1


def test_a_trained_reference_model_is_on_the_board(tmp_path: Path) -> None:
    words = "train mlp --rows 2000,4000 --epochs 5 --validate 0.2 --tensorboard board --quiet"
    ended = start(tmp_path, *words.split())
    _, said = ended.communicate(timeout=PATIENCE)
    assert (ended.returncode, said) == (0, "")
    document = event_files.report(tmp_path / ".laptime")
    for fit, folder in enumerate(event_files.fit_folders(tmp_path / "board")):
        read = event_files.points(folder)
        assert equal_live(read, event_files.expected(document, fit))
        tags = {tag for tag, _ in read}
        names = (
            "epoch_time_s evaluate_s samples_per_s data_wait_share time_left_s loss stage/forward_s"
        )
        assert {f"laptime/{name}" for name in names.split()} <= tags
