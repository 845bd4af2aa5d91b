"""Searches and cross-validations: a row for each candidate, and the scoring apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _guard, _native
from .._around import around, given
from .._native import enter, exit
from ..hooks import within_part
from . import fits

# Functions that fit copies of an estimator to many parts of the data.
VALIDATIONS = (
    "cross_validate",
    "cross_val_predict",
    "learning_curve",
    "permutation_test_score",
    "validation_curve",
)

_EVALUATE = _native.stage_id("evaluate")

# Candidates with a row of their own: a process has 224 names for stages, and no reader wants as many rows.
_MOST_ROWS = 64
_LONGEST = 40


def make_validation(original: Callable[..., Any]) -> Callable[..., Any]:
    name = original.__name__

    def begin(args: Any, kwargs: Any) -> tuple[Any, bool]:
        estimator = given("estimator", 0, args, kwargs)
        row = None
        if not fits.here.stack:
            label = f"{name}({fits.label_of(estimator)})"
            row = fits.begin(estimator, given("X", 1, args, kwargs), label)
        fits.enter_fit(name)
        return estimator, row is not None

    return around(begin, _end_validation)(original)


def _end_validation(begun: tuple[Any, bool]) -> None:
    estimator, is_recorded = begun
    fits.leave_fit()
    if is_recorded:
        fits.end(estimator)


def _enter_candidate(args: Any, kwargs: Any) -> tuple[int | None]:
    here = fits.here
    parameters = kwargs.get("parameters")
    # In a process or on a thread of a pool nothing is recorded: whoever called the search waits for it.
    row = None
    if here.is_recorded and not here.in_candidate and parameters is not None:
        row = _begin_candidate(parameters, kwargs.get("candidate_progress"))
    within_part.depth += 1
    return (row,)


def _leave_candidate(begun: tuple[int | None]) -> None:
    (row,) = begun
    within_part.depth -= 1
    if row is not None:
        fits.here.in_candidate = False
        exit(row)


make_candidate = around(_enter_candidate, _leave_candidate)


@_guard.safely
def _begin_candidate(parameters: dict[str, Any], progress: Any) -> int:
    number = progress[0] + 1 if isinstance(progress, tuple) else 1
    name = ", ".join(
        f"{key.rpartition('__')[2]}={_short(value)}" for key, value in parameters.items()
    )
    name = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    row = _native.stage_id(name if number <= _MOST_ROWS else "other candidates")
    fits.here.in_candidate = True
    enter(row)
    return row


def _short(value: Any) -> str:
    """A setting in few words; an object of the user's is its class."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return (
        str(value)
        if isinstance(value, (bool, int, str, tuple, type(None)))
        else type(value).__name__
    )


def _begin_score(args: Any, kwargs: Any) -> int | None:
    if not fits.here.is_recorded:
        return None
    enter(_EVALUATE)
    return _EVALUATE


make_score = around(_begin_score, exit)
