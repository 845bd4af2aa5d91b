"""Iterations: steps of the estimators that make them in Python, and a number where one only says how many it made."""

from __future__ import annotations

import threading
from typing import Any

from .. import _guard, _native
from .._around import Make, around
from ..hooks import Rounds, rounds_of

_ITERATION = _native.stage_id("iteration")
_ROUND = _native.stage_id("round")


class _Here(threading.local):
    rounds: Rounds | None = None


_here = _Here()


def facts(estimator: Any) -> dict[str, Any]:
    """How many iterations an estimator made and may make; of a pipeline its last step, of a search its best."""
    seen = _innermost(estimator)
    made: Any = getattr(seen, "n_iter_", None)
    made = max(made) if hasattr(made, "__len__") and len(made) else made
    most = getattr(seen, "max_iter", None)
    found: dict[str, Any] = {"iterations": made, "max_iter": most}
    return {key: int(value) for key, value in found.items() if _is_count(value)}


def _innermost(estimator: Any) -> Any:
    for _ in range(4):
        own = vars(estimator) if hasattr(estimator, "__dict__") else {}
        steps = own.get("steps")
        if "best_estimator_" in own:
            estimator = own["best_estimator_"]
        elif isinstance(steps, list) and steps and isinstance(steps[-1], tuple):
            estimator = steps[-1][-1]
        else:
            break
    return estimator


def _is_count(value: Any) -> bool:
    try:
        return value is not None and int(value) >= 0
    except (TypeError, ValueError, OverflowError):
        return False


# A loop of an estimator: what runs it begins its rounds, what is called once in each separates them.


def _loop(plan: str, stage: int, first: bool) -> Make:
    def begin(args: Any, kwargs: Any) -> bool | None:
        return _begin_loop(args[0], plan, stage, first) or None

    return around(begin, _end_loop)


@_guard.safely
def _begin_loop(estimator: Any, plan: str, stage: int, first: bool) -> bool:
    from . import fits

    here = fits.here
    is_wanted = here.is_recorded and not here.in_candidate and len(here.stack) <= 2
    if not is_wanted or _here.rounds is not None or _native.is_inside():
        return False
    steps = getattr(estimator, plan, None)
    _here.rounds = Rounds(stage, steps=steps, plan_source=f"{plan}={steps}")
    if first:
        _here.rounds.begin_round()
    return True


@_guard.safely
def _end_loop(_: Any) -> None:
    rounds, _here.rounds = _here.rounds, None
    if rounds is not None:
        rounds.drop_round()
        rounds.end()


def _begin_turn(args: Any, kwargs: Any) -> Rounds | None:
    return _here.rounds


@_guard.safely
def _next_round(rounds: Rounds) -> None:
    """Called at the end of each turn."""
    rounds.end_round()
    rounds.begin_round()


# The methods that make iterations in Python: of neural networks and of boosted trees.
METHODS = (
    ("_fit_stochastic", _loop("max_iter", _ITERATION, first=True)),
    ("_update_no_improvement_count", around(_begin_turn, _next_round)),
    ("_fit_stages", _loop("n_estimators", _ROUND, first=False)),
    ("_fit_stage", rounds_of(lambda: _here.rounds)),
)
