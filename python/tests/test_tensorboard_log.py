"""`laptime.tensorboard.log`: epochs through a writer that the script already has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Script

pytest.importorskip("tensorboard")

import event_files
from event_files import equal, equal_live
from tensorboard.util import tensor_util

# Two fits of three epochs; `log` is called at the end of each epoch and after each fit.
TRAINING = """
import laptime

def train(writer, *, fits=1):
    for fit in range(fits):
        for epoch in range(3):
            for batch in laptime.batches([[0] * 4] * 5):
                laptime.measured("loss", 0.5)
            laptime.tensorboard.log(writer)
"""

# What tensorboardX's writer takes, put into a file.
KEEPING_WRITER = """
class Writer:
    def __init__(self):
        self.points = []
    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, display_name="", summary_description=""):
        self.points.append((tag, global_step, walltime, scalar_value))
"""


def test_every_epoch_is_added_once_with_the_numbers_of_the_report(script: Script) -> None:
    done = script(
        TRAINING
        + KEEPING_WRITER
        + """
import json
writer = Writer()
train(writer)
assert laptime.tensorboard.log(writer) == 0
print(json.dumps(writer.points))
"""
    )
    points = json.loads(done.out)
    read = {(tag, step): (unix_s, value) for tag, step, unix_s, value in points}
    assert len(read) == len(points)
    expected = event_files.expected(event_files.report(done.folder), 0)
    assert equal_live(read, expected) and len({step for _, step in expected}) == 3


def test_a_second_fit_of_one_writer_has_tags_of_its_own_and_a_second_writer_has_not(
    script: Script,
) -> None:
    done = script(
        KEEPING_WRITER
        + """
import laptime
def fit(writer):
    for epoch in laptime.epochs(2):
        for batch in laptime.batches([1, 2]):
            pass
    laptime.tensorboard.log(writer)
    print(sorted({tag for tag, *_ in writer.points if tag.endswith("epoch_time_s")}))
one, other = Writer(), Writer()
fit(one); fit(one); fit(other)
"""
    )
    assert done.out.splitlines() == [
        "['laptime/epoch_time_s']",
        "['laptime/epoch_time_s', 'laptime/fit_2/epoch_time_s']",
        "['laptime/epoch_time_s']",
    ]


FIT = """
import laptime, sys
def fit(writer):
    for epoch in laptime.epochs(3):
        for batch in laptime.batches([[0] * 4] * 5):
            pass
        laptime.tensorboard.log(writer)
    laptime.tensorboard.log(writer)
"""


def test_the_writer_of_torch(script: Script, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = script(
        FIT
        + """
import types
# Its writer would import TensorFlow, with which torch does not always share a process.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")
from torch.utils.tensorboard import SummaryWriter
with SummaryWriter("logs") as writer:
    fit(writer)
"""
    )
    expected = event_files.expected(event_files.report(done.folder), 0)
    assert equal_live(event_files.points(tmp_path / "logs"), expected)


def test_tensorflow_reads_what_is_exported_and_its_writer_takes_epochs(
    script: Script, tmp_path: Path
) -> None:
    pytest.importorskip("tensorflow")
    assert event_files.export(event_files.FIXTURES, "demo", tmp_path / "demo").returncode == 0
    (exported,) = (tmp_path / "demo").rglob("*tfevents*")
    done = script(
        FIT
        + """
import os
import tensorflow as tf
fit(tf.summary.create_file_writer("logs"))
for event in tf.compat.v1.train.summary_iterator(os.environ["EXPORTED"]):
    for value in event.summary.value:
        print(value.tag, event.step, event.wall_time, value.simple_value)
""",
        EXPORTED=str(exported),
    )
    lines = (line.split(" ") for line in done.out.splitlines())
    read = {(tag, int(step)): (float(unix_s), float(value)) for tag, step, unix_s, value in lines}
    assert equal(read, event_files.points(exported.parent))

    expected = event_files.expected(event_files.report(done.folder), 0)
    (path,) = (tmp_path / "logs").glob("*tfevents*")
    # tf.summary puts its points at the moment they are added, not at the end of the pass.
    written = {
        (value.tag, event.step): (
            expected[value.tag, event.step][0],
            tensor_util.make_ndarray(value.tensor).item(),
        )
        for event in event_files.events(path)
        for value in event.summary.value
    }
    assert equal_live(written, expected)


@pytest.mark.parametrize("writer", ["None", "Broken()", "object()"])
def test_a_writer_that_fails_costs_its_points_and_nothing_else(script: Script, writer: str) -> None:
    done = script(
        TRAINING
        + f"""
class Broken:
    def add_scalar(self, *args, **more):
        raise OSError("No space left on device")
train({writer})
print("over")
"""
    )
    assert done.out == "over\n" and "Traceback" not in done.err
    fit = done.run.fits[0]
    assert fit["epochs"] == 3
    assert "tensorboard" in [one["trouble"]["hook"] for one in done.run.to_dict()["warnings"]]


def test_without_a_run_nothing_is_added_and_no_framework_is_imported(script: Script) -> None:
    done = script(
        TRAINING
        + KEEPING_WRITER
        + """
import sys
writer = Writer()
train(writer)
print(writer.points, {"torch", "tensorflow", "tensorboard"} & set(sys.modules))
""",
        LAPTIME_DISABLED="1",
    )
    assert done.out == "[] set()\n"
