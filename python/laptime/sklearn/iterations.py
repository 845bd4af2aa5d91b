"""Iterations: steps of the estimators that make them in Python, and a number where one only says how many it made."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .. import _guard, _native
from ..hooks import Rounds

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


# A loop of an estimator: what runs it begins its rounds, what is called once in each tells them apart.


def _make_loop(plan: str, stage: int, first: bool) -> Callable[..., Any]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def loop(self: Any, *args: Any, **kwargs: Any) -> Any:
            is_ours = _begin_loop(self, plan, stage, first)
            try:
                return original(self, *args, **kwargs)
            except BaseException as error:
                _guard.unseen(error)
                raise
            finally:
                if is_ours:
                    _end_loop()

        return loop

    return make


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
def _end_loop() -> None:
    rounds, _here.rounds = _here.rounds, None
    if rounds is not None:
        rounds.drop_round()
        rounds.end()


def _make_turn(original: Callable[..., Any]) -> Callable[..., Any]:
    """Called at the end of each turn."""

    def turn(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            if _here.rounds is not None:
                _turn()

    return turn


@_guard.safely
def _turn() -> None:
    assert _here.rounds is not None
    _here.rounds.end_round()
    _here.rounds.begin_round()


def _make_round(original: Callable[..., Any]) -> Callable[..., Any]:
    """A whole turn."""

    def stage(self: Any, *args: Any, **kwargs: Any) -> Any:
        rounds = _here.rounds
        if rounds is not None:
            _begin_round(rounds)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            if rounds is not None:
                _drop_round(rounds)
            _guard.unseen(error)
            raise
        if rounds is not None:
            _end_round(rounds)
        return result

    return stage


@_guard.safely
def _begin_round(rounds: Rounds) -> None:
    rounds.begin_round()


@_guard.safely
def _drop_round(rounds: Rounds) -> None:
    rounds.drop_round()


@_guard.safely
def _end_round(rounds: Rounds) -> None:
    rounds.end_round()


# The methods that make iterations in Python: of neural networks and of boosted trees.
METHODS = (
    ("_fit_stochastic", _make_loop("max_iter", _ITERATION, first=True)),
    ("_update_no_improvement_count", _make_turn),
    ("_fit_stages", _make_loop("n_estimators", _ROUND, first=False)),
    ("_fit_stage", _make_round),
)
