"""Searches and cross-validations: a row for each candidate, and the scoring apart."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .. import _guard, _native
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

    def validate(*args: Any, **kwargs: Any) -> Any:
        estimator = args[0] if args else kwargs.get("estimator")
        data = args[1] if len(args) > 1 else kwargs.get("X")
        row = None
        if not fits.here.stack:
            label = f"{name}({fits.label_of(estimator)})"
            row = fits.begin(estimator, data, sys._getframe().f_back, label)
        fits.enter_fit(name)
        try:
            return original(*args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            fits.leave_fit()
            if row is not None:
                fits.end(estimator)

    return validate


def make_candidate(original: Callable[..., Any]) -> Callable[..., Any]:
    def _fit_and_score(*args: Any, **kwargs: Any) -> Any:
        here = fits.here
        parameters = kwargs.get("parameters")
        # In a process or on a thread of a pool nothing is recorded: whoever called the search waits for it.
        row = None
        if here.is_recorded and not here.in_candidate and parameters is not None:
            row = _begin_candidate(parameters, kwargs.get("candidate_progress"))
        within_part.depth += 1
        try:
            return original(*args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            within_part.depth -= 1
            if row is not None:
                here.in_candidate = False
                exit(row)

    return _fit_and_score


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


def make_score(original: Callable[..., Any]) -> Callable[..., Any]:
    def _score(*args: Any, **kwargs: Any) -> Any:
        is_recorded = fits.here.is_recorded
        if is_recorded:
            enter(_EVALUATE)
        try:
            return original(*args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            if is_recorded:
                exit(_EVALUATE)

    return _score
