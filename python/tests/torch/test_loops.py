"""How long a loop goes on is reported right, as a bound that says so, or not at all."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from .conftest import run_hooked

# By loop: of each fit the epochs and the steps that are planned and where that was read, and the steps made in all.
LOOPS: dict[str, tuple[list[tuple[int | None, int | None, str | None]], int]] = {
    "a_range": ([(4, None, "range(4)")], 20),
    "a_list": ([(3, None, "a list of 3")], 15),
    "a_while": ([(4, None, "epoch < 4")], 20),
    "steps_only": ([(None, 12, "range(12)")], 12),
    "max_steps": ([(None, 12, "done >= max_steps")], 12),
    "max_steps_over_epochs": ([(None, 12, "done >= max_steps")], 12),
    "max_steps_with_flag": ([(None, 12, "done >= max_train_steps")], 12),
    # It is left after four: the plan is a bound.
    "early_stop": ([(20, None, "at most range(20)")], 20),
    "early_stop_object": ([(20, None, "at most range(20)")], 15),
    "folds": ([(4, None, "range(4)")] * 3, 60),
    "one_pass": ([(None, None, None)], 5),
    "loader_with_break": ([(4, None, "range(4)")], 12),
    "cycled": ([(None, None, None)], 12),
    "count_of_epochs": ([(4, None, "epoch >= 4")], 20),
    "a_bar": ([(4, None, "range(4)")], 20),
    "a_bar_of_a_number": ([(4, None, "bar")], 20),
    "settings": ([(4, None, "range(args.epochs)")], 20),
    "resumed": ([(4, None, "range(start_epoch, 6)")], 20),
    "resumed_while": ([(4, None, "epoch < 6")], 20),
    "resumed_steps": ([(None, 12, "step < total_steps")], 12),
    "until_it_is_good": ([(None, None, None)], 15),
    "skipped_epochs": ([(6, None, "at most range(6)")], 20),
    "accumulated": ([(4, None, "range(4)")], 8),
    "in_phases": ([(5, None, "2 + range(3)")], 25),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_the_plan_of_a_loop_is_right_or_not_given(loop: str, tmp_path: Path) -> None:
    if "bar" in loop and importlib.util.find_spec("tqdm") is None:
        pytest.skip("tqdm is not installed")
    planned, steps = LOOPS[loop]
    recorded = run_hooked(["loops.py", loop], tmp_path)
    assert recorded.ending.code == 0, recorded.ending.stderr
    assert int(recorded.ending.stdout.split()[-1]) == steps
    fits = recorded.report["fits"]
    found = [(fit["planned_epochs"], fit["planned_steps"], fit["plan_source"]) for fit in fits]
    assert found == planned
    for fit in fits:
        check_plan(fit, steps)


def check_plan(fit: dict, steps: int) -> None:
    """What was planned against what was made."""
    if fit["planned_steps"] is not None:
        assert fit["planned_steps"] == steps
    if fit["planned_epochs"] is not None:
        is_bound = fit["plan_source"].startswith("at most ")
        made = fit["epochs"]
        assert made < fit["planned_epochs"] if is_bound else made == fit["planned_epochs"]
