"""Waits: where a script waits for what JAX computes, because it wants a value or says so."""

from __future__ import annotations

from typing import Any

import jax
from jax._src import array

from .. import _guard, _native
from .._around import around
from .._native import enter, exit, in_training, is_inside
from .functions import here

_DEVICE_WAIT = _native.stage_id("device_wait")
_EVALUATE = _native.stage_id("evaluate")


def attach() -> None:
    """Hooks the value of an array, which `float`, `numpy.asarray` and printing want, and its own wait."""
    kind = array.ArrayImpl
    value = kind.__dict__["_value"]
    if not getattr(value.fget, "_laptime", False):
        timed: Any = around(_begin_wait, _end_wait)(value.fget)
        timed._laptime = True
        kind._value = property(timed)
    # Not made by Python, so that it has no name to take over.
    kind.block_until_ready = around(_begin_wait, _end_wait)(kind.block_until_ready)


def attach_function() -> None:
    """Hooks `jax.block_until_ready`."""
    _guard.replace(jax, "block_until_ready", around(_begin_wait, _end_wait))


def _begin_wait(args: Any, kwargs: Any) -> int | None:
    # Only what a jitted function of the script has left to be computed is waited for.
    if not (here.trained or here.evaluated) or is_inside() or not in_training():
        return None
    stage = _EVALUATE if here.evaluated else _DEVICE_WAIT
    enter(stage)
    return stage


def _end_wait(stage: int) -> None:
    exit(stage)
    _results_arrived()


@_guard.safely
def _results_arrived() -> None:
    """The first results that are waited for after a step are the step's; what follows an evaluation is its own."""
    if here.evaluated:
        here.evaluated = False
        _native.record_activity()
    elif here.trained:
        _native.results_arrived()
    here.trained = False
