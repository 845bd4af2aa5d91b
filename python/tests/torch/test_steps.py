"""Trainings without epochs: their laps are windows of steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from side_by_side import check_same

from .conftest import Recorded, run_both
from .test_scripts import check_closing


def recorded_steps(command: str, folder: Path) -> Recorded:
    bare, recorded = run_both(command.split(), folder)
    assert bare.code == 0, bare.stderr
    check_same(bare, recorded.ending)
    check_closing(recorded)
    assert {lap["kind"] for lap in recorded.epochs} == {"window"}
    return recorded


@pytest.mark.parametrize(
    ("command", "steps"),
    [
        ("steps_only.py", 200),
        ("steps_only.py evaluates", 200),
        ("endless.py", 64),
        ("experience.py", 80),
        ("in_turn.py", 100),
    ],
)
def test_every_step_is_in_one_lap(command: str, steps: int, tmp_path: Path) -> None:
    recorded = recorded_steps(command, tmp_path)
    assert len(recorded.report["fits"]) == 1
    assert sum(lap["steps"] for lap in recorded.epochs) == steps
    assert recorded.report["steps"]["count"] == steps
    # A loss is read once a millisecond at most, so a lap of one short step may have none.
    assert any(lap["loss"] is not None for lap in recorded.epochs)


def test_what_the_script_makes_in_the_loop_is_prepared(tmp_path: Path) -> None:
    recorded = recorded_steps("steps_only.py", tmp_path)
    laps = recorded.epochs
    share = sum(lap["stages"]["prepare"] for lap in laps) / sum(lap["wall_s"] for lap in laps)
    assert share > 0.5
    assert sum(lap["tokens"] for lap in laps) == 200 * 4 * 16
    assert recorded.report["fits"][0]["planned_steps"] == 200
    assert recorded.report["fits"][0]["plan_source"] == "steps >= max_steps"
    assert "prepar" in recorded.report["findings"][0]["text"]


def test_laps_end_with_evaluations_where_there_are_such(tmp_path: Path) -> None:
    recorded = recorded_steps("steps_only.py evaluates", tmp_path)
    assert [lap["steps"] for lap in recorded.epochs] == [40] * 5
    assert [lap["evaluate_s"] > 0 for lap in recorded.epochs] == [True] * 4 + [False]
