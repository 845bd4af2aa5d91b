"""`laptime.summary()` shows the run so far, wherever it is called, and never raises."""

from __future__ import annotations

import pytest
from conftest import Script

TRAINING = """
import laptime, os, sys, time

def train(epochs):
    for epoch in laptime.epochs(epochs):
        for batch in laptime.batches([[1, 2], [3, 4]]):
            time.sleep(0.01)
"""


def test_a_summary_shows_the_run_so_far_and_does_not_end_it(script: Script) -> None:
    done = script(
        TRAINING
        + """
train(2)
first = laptime.summary()
print(first)
train(1)
assert len(first.run.epochs) == 2 and len(laptime.summary().run.epochs) == 3
assert first.run.status == "running"
"""
    )
    assert done.out.startswith("laptime  ") and "running  2 epochs" in done.out
    assert "epoch  wall" in done.out and "run kept in" in done.out
    assert all(len(line) <= 80 for line in done.out.splitlines())
    assert (len(done.run.epochs), done.run.status) == (3, "finished")


def test_a_notebook_shows_the_text_aligned_and_escaped(script: Script) -> None:
    script(
        TRAINING
        + """
laptime.init(name="<b>")
train(1)
summary = laptime.summary()
assert repr(summary) == str(summary) and "<b>" in str(summary)
html = summary._repr_html_()
assert html.startswith("<pre") and "&lt;b&gt;" in html and "<b>" not in html

class Printer:
    def text(self, text):
        self.shown = text

printer = Printer()
summary._repr_pretty_(printer, False)
assert printer.shown == str(summary)
"""
    )


def test_before_anything_is_recorded_it_says_what_to_type(script: Script) -> None:
    done = script("import laptime\nstage = laptime.stage('idle')\nprint(laptime.summary())")
    assert done.out.startswith("laptime: nothing is recorded yet\nhint: ")
    assert done.err == "" and not done.folder.exists()


@pytest.mark.parametrize("how", ["variable", "argument"])
def test_with_recording_disabled_it_says_so(script: Script, how: str) -> None:
    off = "laptime.init(disabled=True)" if how == "argument" else ""
    variables = {"LAPTIME_DISABLED": "1"} if how == "variable" else {}
    done = script(TRAINING + f"{off}\ntrain(1)\nprint(laptime.summary())", **variables)
    assert done.out.startswith("laptime: recording is off") and not done.folder.exists()


@pytest.mark.parametrize("started", ["laptime.init()", "laptime.stage('armed').__enter__()"])
def test_a_forked_child_shows_its_parents_run(script: Script, started: str) -> None:
    done = script(
        TRAINING
        + f"{started}\n"
        + """
train(1)
if child := os.fork():
    os.waitpid(child, 0)
else:
    print(laptime.summary(), flush=True)
    os._exit(0)
"""
    )
    assert "1 epoch" in done.out and len(done.logs) == 1


def test_after_the_end_it_shows_the_run_that_ended(script: Script) -> None:
    done = script(TRAINING + "train(1)\nlaptime.finish()\nprint(laptime.summary())")
    assert "1 epoch" in done.out and "running" not in done.out
    assert done.err == ""


def test_a_run_that_cannot_be_read_is_said_to_be(script: Script) -> None:
    done = script(
        TRAINING
        + """
train(1)
import shutil
shutil.rmtree(laptime.summary().run.path)
print(laptime.summary())
""",
    )
    assert done.out.startswith("laptime: could not summarize")
