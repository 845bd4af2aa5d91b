"""How many epochs or steps a loop will make is read from its code, on every Python, or not said at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import laptime
import pytest
from laptime import _plan
from test_profile import OTHER_PYTHONS

CASES = Path(__file__).with_name("plan_cases.py")


@pytest.mark.parametrize("version", ["this", *OTHER_PYTHONS])
def test_the_plan_of_a_training_is_found_in_its_loops_or_not_said(version: str) -> None:
    # In a process of its own: the test runner's loops would be loops around the trainings.
    python, package = OTHER_PYTHONS.get(version, sys.executable), Path(laptime.__file__).parent
    done = subprocess.run([python, CASES, package], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_that_looks_odd_has_no_plan() -> None:
    assert _plan.of_epochs(None, None) is None
    assert _plan.of_steps(None) is None
    assert _plan.of_steps("no frame") is None  # type: ignore[arg-type]
