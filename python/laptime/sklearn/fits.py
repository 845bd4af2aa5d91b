"""Fits: the outermost `fit` of an estimator that learns to predict, and a row for each that is fitted inside it."""

from __future__ import annotations

import sys
import threading
from typing import Any, NamedTuple

import sklearn

from .. import _guard, _native, _session, _training
from .._around import around, caller, given
from .._native import enter, exit
from ..hooks import within_part
from . import iterations

_FIT = _native.stage_id("fit")

# Longer names would not fit a line.
_LONGEST = 60

# Fits of this process that are under way: what is fitted on threads of a pool meanwhile is part of them.
_under_way = 0


class _Here(threading.local):
    """What is fitted on the calling thread."""

    def __init__(self) -> None:
        # The estimators under way from the outermost, and whether the outermost is recorded.
        self.stack: list[Any] = []
        self.is_recorded = False
        # What the outermost is made of: those have a row each.
        self.parts: set[type] = set()
        # Whether a candidate of a search has its row open, so that what is fitted in it has none.
        self.in_candidate = False


here = _Here()


class _Fit(NamedTuple):
    """A `fit` that is under way."""

    estimator: Any
    row: int | None
    is_inner: bool
    # A fit in a worker of a pool is part of one elsewhere, and so is all that happens in it.
    is_part: bool


def _begin_fit(args: Any, kwargs: Any) -> _Fit | None:
    estimator, stack = args[0], here.stack
    if stack and stack[-1] is estimator:
        # Of a base class, or `fit` inside `fit_transform`.
        return None
    row = _begin_row(estimator) if stack else begin(estimator, given("X", 1, args, kwargs))
    fit = _Fit(estimator, row, bool(stack), row is None and not stack)
    within_part.depth += fit.is_part
    enter_fit(estimator)
    return fit


def _end_fit(fit: _Fit) -> None:
    leave_fit()
    within_part.depth -= fit.is_part
    if fit.row is not None:
        _end_row(fit.row) if fit.is_inner else end(fit.estimator)


make_fit = around(_begin_fit, _end_fit)


def enter_fit(estimator: Any) -> None:
    """A call has begun; those inside it are part of it."""
    global _under_way
    here.stack.append(estimator)
    _under_way += 1


def leave_fit() -> None:
    """The call has ended."""
    global _under_way
    here.stack.pop()
    _under_way -= 1


@_guard.safely
def begin(estimator: Any, data: Any, label: str = "") -> int | None:
    """Begins a fit; `None` where it is none, or part of another training."""
    if not trains(estimator) or is_part():
        return None
    _session.ensure_started()
    _training.here.training.leave_unless_around(caller())
    if _native.fit_is_open() or _native.in_training():
        # Part of a training that is under way, such as a probe of its features.
        return None
    label = label or label_of(estimator)
    _native.fit_begin(facts(estimator) | {"label": label, "rows": rows_of(data)})
    enter(_FIT)
    here.is_recorded = True
    here.parts = {type(estimator), *map(type, parts_of(estimator))}
    return _FIT


@_guard.safely
def end(estimator: Any) -> None:
    """The fit has ended, or failed."""
    here.is_recorded = here.in_candidate = False
    _native.fit_update(iterations.facts(estimator))
    exit(_FIT)
    _native.fit_end()


@_guard.safely
def _begin_row(estimator: Any) -> int | None:
    """What an estimator is made of has a row each; what is fitted inside that, or as a help, belongs to it."""
    if not here.is_recorded or here.in_candidate or len(here.stack) > 1 or _native.is_inside():
        return None
    if type(estimator) not in here.parts:
        return None
    refit = hasattr(type(here.stack[0]), "_run_search")
    row = _native.stage_id("refit" if refit else _row_name(here.stack[0], estimator))
    enter(row)
    return row


@_guard.safely
def _end_row(row: int) -> None:
    exit(row)


def _row_name(outer: Any, estimator: Any) -> str:
    """The class of an estimator; in a pipeline that has two of it, the step's name too."""
    name = type(estimator).__name__
    steps = _steps(outer)
    same = [step for step, one in steps if type(one).__name__ == name]
    # A pipeline fits copies of its steps, so of several it is the one with the same settings.
    if len(same) > 1:
        known = [step for step, one in steps if one is estimator or repr(one) == repr(estimator)]
        name = f"{known[0]} {name}" if len(known) == 1 else name
    return name


def trains(estimator: Any) -> bool:
    """Whether an estimator learns to predict; one that only transforms prepares data."""
    if hasattr(type(estimator), "_run_search"):
        # A search that does not fit its best candidate again cannot predict.
        return trains(estimator.estimator)
    return any(hasattr(estimator, name) for name in ("predict", "fit_predict"))


def is_part() -> bool:
    """Whether this thread or process does a part of a fit that another began."""
    if _under_way and threading.current_thread() is not threading.main_thread():
        return True
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and processes.current_process().name != "MainProcess"


def rows_of(data: Any) -> int | None:
    """How many rows there are, where the data says so."""
    shape = getattr(data, "shape", None)
    return shape[0] if shape else (len(data) if isinstance(data, (list, tuple)) else None)


def facts(estimator: Any) -> dict[str, Any]:
    """What an estimator says of a fit."""
    return {
        "framework": "sklearn",
        "framework_version": sklearn.__version__,
        "device": "cpu",
        "label": label_of(estimator),
    }


def label_of(estimator: Any) -> str:
    """An estimator by its class, with those it is made of: `Pipeline(StandardScaler, Ridge)`."""
    inside = list(map(label_of, parts_of(estimator)))
    name = type(estimator).__name__
    label = f"{name}({', '.join(inside)})" if inside else name
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def parts_of(estimator: Any) -> list[Any]:
    """The estimators that another is made of, as it was given them: a pipeline's, a search's, a vote's."""
    own = vars(estimator) if hasattr(estimator, "__dict__") else {}
    parts = [one for name in ("steps", "estimators") for _, one in _pairs(own.get(name))]
    parts += [own.get(name) for name in ("estimator", "regressor", "final_estimator")]
    return [one for one in parts if hasattr(one, "fit")]


def _steps(estimator: Any) -> list[tuple[Any, Any]]:
    return _pairs(vars(estimator).get("steps") if hasattr(estimator, "__dict__") else None)


def _pairs(steps: Any) -> list[tuple[Any, Any]]:
    is_pairs = isinstance(steps, list) and all(
        isinstance(one, tuple) and len(one) == 2 for one in steps
    )
    return steps if is_pairs else []
