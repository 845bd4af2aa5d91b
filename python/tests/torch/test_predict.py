"""`laptime predict` on real scripts: what can be said is said, and files that were there stay as they are."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("torch")

SCRIPT = Path(__file__).parent / "scripts" / "probed.py"
LAPTIME = str(Path(sys.executable).with_name("laptime"))
KEPT = ("model.pt", "train.lock")


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str
    folder: Path


def predict(how: list[str], options: list[str], folder: Path) -> Said:
    """Predicts a script in a folder with a model in it, whose files must be as they were afterwards."""
    folder.mkdir(exist_ok=True)
    shutil.copy(SCRIPT, folder)
    for name in KEPT:
        (folder / name).write_text(f"{name} as it was")
    before = hashes(folder)
    done = subprocess.run(
        [LAPTIME, "predict", *options, "--", sys.executable, "probed.py", *how],
        cwd=folder,
        env=os.environ | {"LAPTIME_DATA_DIR": str(folder.parent / "data")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert hashes(folder) == before
    lines = done.stdout.splitlines() + done.stderr.splitlines()
    assert all(len(line) <= 80 for line in lines if not line.startswith("probing for")), lines
    return Said(done.returncode, done.stdout, done.stderr, folder)


def hashes(folder: Path) -> dict[str, str]:
    files = [path for path in folder.iterdir() if path.is_file()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def document(how: list[str], options: list[str], folder: Path) -> dict:
    said = predict(how, [*options, "--json"], folder)
    assert said.code == 0, said.err
    return json.loads(said.out)


def test_a_training_is_predicted_with_its_checkpoints_and_its_losses(tmp_path: Path) -> None:
    found = document(["well", "2000"], ["--seconds", "12"], tmp_path / "project")
    assert (found["basis"]["epochs"], found["basis"]["steps"]) == (2000, 40_000)
    assert found["basis"]["plan_text"] == "range(EPOCHS)"
    assert "checkpoint" in {part["name"] for part in found["parts"]}
    assert found["total_s"]["low"] < found["total_s"]["mean"] < found["total_s"]["high"]
    assert found["probe"]["guarded"]
    assert found["probe"]["opened"] == []


def test_another_batch_is_predicted_from_two_small_ones(tmp_path: Path) -> None:
    options = ["--seconds", "10", "--batch", "320"]
    found = document(["well", "20000"], options, tmp_path / "project")
    assert found["probe"]["second_batch"] == 16
    assert (found["basis"]["steps_per_epoch"], len(found["basis"]["runs"])) == (2, 1)
    # A tenth of the steps, each of which takes more of its time for the batch.
    assert 0.05 < found["change"]["ratio"]["mean"] < 0.9, found["change"]
    assert found["memory"]["fits"] == "yes"


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        (["crash"], 1, "it failed: exit code 1: ValueError: no data"),
        (["never"], 1, "no training step was seen"),
        (["hourly"], 1, "one step was seen, a forecast needs 3"),
        (["well", "20"], 0, "the command ended by itself after "),
        (["fork"], 0, "done "),
        (["lock"], 0, "done "),
    ],
    ids=["crashes", "never_steps", "steps_once_an_hour", "ends_within", "forks", "holds_a_lock"],
)
def test_what_can_be_said_of_a_script_that_is_hard_to_probe_is_said(
    how: list[str], code: int, words: str, tmp_path: Path
) -> None:
    said = predict(how, ["--seconds", "12"], tmp_path / "project")
    assert said.code == code, said.err
    assert words in " ".join((said.out + said.err).split()), said.out + said.err
