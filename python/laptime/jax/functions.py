"""Jitted functions: a call is a stage, and one that computes gradients in a loop is a step."""

from __future__ import annotations

import functools
import re
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import jax
import numpy
from jax._src import api

from .. import _guard, _loops, _native, _training
from .._around import around, before, caller
from .._native import (
    MODULE_MODEL,
    UPDATE_UNSETTLED,
    begin_compiled_update,
    begin_function,
    begin_model,
    end_compiled_update,
    end_function,
    is_inside,
)
from .._passes import owned

# A function without gradients that is named like this looks at what was trained.
_EVALUATES = re.compile(r"eval|valid|test|predict|accura|infer|score|metric", re.IGNORECASE)


class _Model:
    """Stands for whatever the functions train: nothing says of which model their arrays are."""


_MODEL = _Model()


class _Here(threading.local):
    """What JAX does on the calling thread."""

    def __init__(self) -> None:
        _native.register_module(_MODEL, MODULE_MODEL)
        _native.train_model(_MODEL)
        # The jitted function that is called, and whether the newest one trained, so that its results are waited for.
        self.call: Call | None = None
        self.trained = self.evaluated = False


here = _Here()


class Call:
    """A jitted function as it is known from its tracing, and the call of it that is under way."""

    __slots__ = ("frame", "inputs", "is_known", "is_updating", "looks", "name", "stage", "trains")

    def __init__(self, name: str) -> None:
        self.name = name
        self.stage = _native.stage_id(name)
        self.is_known = self.trains = self.is_updating = False
        # Whether it only looks at what was trained, by its name.
        self.looks = _EVALUATES.search(name) is not None
        self.frame: FrameType | None = None
        self.inputs: tuple[Any, ...] = ()

    @property
    def evaluates(self) -> bool:
        return not self.trains and self.looks

    def begin(self, frame: FrameType | None, inputs: tuple[Any, ...]) -> None:
        begin_function(self.stage, not self.is_known or self.trains)
        self.frame, self.inputs = frame, inputs
        here.call = self
        if self.trains:
            self.update()

    def update(self) -> None:
        """The function computes gradients, as its tracing shows or has shown: in a loop this is a step."""
        if self.is_updating or not _loops.identities(self.frame):
            return
        self.is_updating = True
        if not _native.has_passes():
            _native.take_samples(_samples(self.inputs))
        training = _training.here.training
        if not _native.is_counted():
            training.leave_unless_around(self.frame)
        if begin_compiled_update(None) == UPDATE_UNSETTLED:
            training.framework = "jax"
            before = training.fit_began
            training.settle_update(None, self.frame)
            if training.fit_began != before:
                _native.fit_update(_facts(self.name))

    def end(self) -> None:
        here.call = None
        end_function(self.stage)
        self.frame, self.inputs = None, ()
        if self.is_updating:
            self.is_updating = False
            end_compiled_update(None)
            here.trained, here.evaluated = True, False
        self.is_known = True

    def end_evaluation(self) -> None:
        here.call = None
        _native.end_call()
        self.is_known = here.evaluated = True


def _facts(name: str) -> dict[str, Any]:
    device = jax.devices()[0]
    kind = "cpu" if device.platform == "cpu" else f"{device.platform}:{device.id}"
    return {"framework_version": jax.__version__, "device": kind, "label": name, "compiled": name}


def _samples(inputs: Any, depth: int = 0) -> int:
    """Samples in the first array of the host: what was trained is on the device, and a batch often is not."""
    if isinstance(inputs, numpy.ndarray):
        return inputs.shape[0] if inputs.ndim else 0
    if isinstance(inputs, dict):
        inputs = tuple(inputs.values())
    if not isinstance(inputs, (tuple, list)) or depth > 2:
        return 0
    return next((found for one in inputs if (found := _samples(one, depth + 1))), 0)


# Gradients.


def attach_gradients() -> None:
    """Every gradient of a scalar is made by this function."""
    original = api.vjp
    _guard.replace(api, "vjp", before(_on_vjp))
    if jax.vjp is original:
        jax.vjp = api.vjp


def _on_vjp(args: Any, kwargs: Any) -> None:
    if here.call is not None and not here.call.is_known:
        _gradients_computed(here.call)


@_guard.safely
def _gradients_computed(call: Call) -> None:
    call.trains = True
    if not call.looks:
        call.update()


# Functions.


def attach() -> None:
    """Hooks `jax.jit`, where a script calls it; JAX and what is built on it have theirs."""
    _guard.replace(jax, "jit", _make_jit)


def _make_jit(original: Callable[..., Any]) -> Callable[..., Any]:
    def jit(*args: Any, **kwargs: Any) -> Any:
        try:
            made = original(*args, **kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        if _loops.is_foreign(sys._getframe().f_back):
            return made
        if args:
            return _watched(made) or made
        # With settings alone it makes a decorator.
        return lambda function: _watched(jitted := made(function)) or jitted

    return jit


@_guard.safely
def _watched(jitted: Any) -> Callable[..., Any]:
    call = Call(str(getattr(jitted, "__name__", "jit")))

    def begin(args: Any, kwargs: Any) -> tuple[Call, bool] | None:
        return None if owned.depth or is_inside() else begin_call(call, args)

    function = functools.wraps(jitted)(around(begin, end_call)(jitted))
    for name in dir(jitted):
        if not name.startswith("__"):
            setattr(function, name, getattr(jitted, name))
    return function


def begin_call(call: Call, inputs: tuple[Any, ...]) -> tuple[Call, bool]:
    """A jitted function is called; gives what `end_call` needs."""
    evaluates = call.evaluates
    _begin_call(call, evaluates, inputs)
    return call, evaluates


@_guard.safely
def _begin_call(call: Call, evaluates: bool, inputs: tuple[Any, ...]) -> None:
    if evaluates:
        here.call = call
        begin_model(_MODEL, False)
    else:
        call.begin(caller(), inputs)


@_guard.safely
def end_call(begun: tuple[Call, bool]) -> None:
    """The jitted function has returned."""
    call, evaluates = begun
    call.end_evaluation() if evaluates else call.end()
