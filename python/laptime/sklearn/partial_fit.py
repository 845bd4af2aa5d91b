"""A loop of `partial_fit`: each call is a step of an estimator that is its own optimizer."""

from __future__ import annotations

import threading
from typing import Any

from .. import _guard, _native, _session, _training
from .._around import around, caller, given
from .._native import UPDATE_UNSETTLED
from .._samples import samples_of
from . import fits

_PARTIAL_FIT = _native.stage_id("partial_fit")


class _Here(threading.local):
    # When the training of the newest `partial_fit` on this thread began.
    began: int | None = None


_here = _Here()


def _enter_part(args: Any, kwargs: Any) -> tuple[Any, bool]:
    estimator, stack = args[0], fits.here.stack
    is_ours = (not stack and _begin_part(estimator, given("X", 1, args, kwargs))) or False
    stack.append(estimator)
    return estimator, is_ours


def _leave_part(begun: tuple[Any, bool]) -> None:
    estimator, is_ours = begun
    fits.here.stack.pop()
    if is_ours:
        _end_part(estimator)


make_partial_fit = around(_enter_part, _leave_part)


@_guard.safely
def _begin_part(estimator: Any, data: Any) -> bool:
    """A step of an estimator that is its own optimizer."""
    if not fits.trains(estimator) or fits.is_part() or _native.is_inside():
        return False
    _session.ensure_started()
    training = _training.here.training
    if _native.in_training() and training.fit_began != _here.began:
        training.leave_unless_around(caller())
    is_others = _native.in_training() and training.fit_began != _here.began
    if is_others or (_native.fit_is_open() and not _native.in_training()):
        return False
    _native.begin_function(_PARTIAL_FIT, True)
    _native.take_samples(samples_of(data))
    if _native.begin_compiled_update(estimator) == UPDATE_UNSETTLED:
        training.remember(estimator)
        training.settle_update(estimator, caller())
        _here.began = training.fit_began
    return True


@_guard.safely
def _end_part(estimator: Any) -> None:
    _native.end_function(_PARTIAL_FIT)
    _native.end_compiled_update(estimator)
