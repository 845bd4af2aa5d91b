"""Functions: a `tf.function` as it is known from its tracing; one that trains makes steps."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import tensorflow as tf

from .. import _guard, _loops, _native, _training
from .._around import around, before, caller
from .._native import (
    MODULE_MODEL,
    UPDATE_UNSETTLED,
    begin_function,
    begin_model,
    end_call,
    end_function,
    is_inside,
)
from .._samples import samples_of
from .data import is_scripts
from .facts import own_facts


class _Model:
    """Stands for whatever a tape records: its calls are not all of one model."""


MODEL = _Model()


class _Here(threading.local):
    """What TensorFlow does on the calling thread."""

    def __init__(self) -> None:
        _native.register_module(MODEL, MODULE_MODEL)
        _native.train_model(MODEL)
        self.in_tape = False
        self.wants_samples = False
        # The compiled function that is called, and by whom.
        self.call: Call | None = None


here = _Here()


def register_model(model: Any, inputs: Any) -> None:
    """A model is called while a tape records: it is trained."""
    if here.wants_samples:
        here.wants_samples = False
        _native.take_samples(samples_of(inputs))
    training = _training.here.training
    if id(model) not in training.modules:
        training.register_module(model, MODULE_MODEL)
        training.register_model(model, type(model).__name__)


class Call:
    """A compiled function as it is known from its tracing, and the call of it that is under way."""

    __slots__ = (
        "assigns",
        "calls_model",
        "frame",
        "inputs",
        "is_known",
        "is_updating",
        "name",
        "optimizer",
        "sources",
        "stage",
        "updates_itself",
        "weak",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.stage = _native.stage_id(name)
        self.is_known = False
        self.calls_model = False
        self.weak: weakref.ref[Any] | None = None
        # The variables it computes gradients of, whether it assigns to one of them, and whether no optimizer
        # does that for it.
        self.sources: set[int] = set()
        self.assigns = self.updates_itself = False
        self.is_updating = False
        self.optimizer: Any = None
        self.frame: Any = None
        self.inputs: Any = None

    @property
    def trains(self) -> bool:
        return self.weak is not None or self.updates_itself

    @property
    def evaluates(self) -> bool:
        return self.is_known and self.calls_model and not self.trains

    def begin(self, frame: Any, inputs: Any) -> None:
        begin_function(self.stage, not self.is_known or self.trains)
        self.frame, self.inputs = frame, inputs
        here.call = self
        optimizer = self.weak() if self.weak is not None else None
        if optimizer is not None or self.updates_itself:
            self.update(optimizer)

    def update(self, optimizer: Any) -> None:
        """The function trains with this optimizer or without one, as its tracing shows or has shown."""
        if self.is_updating:
            return
        self.is_updating = True
        self.optimizer = optimizer
        if self.weak is None and optimizer is not None:
            self.weak = weakref.ref(optimizer)
        if not _native.has_passes():
            _native.take_samples(samples_of(self.inputs))
        training = _training.here.training
        if optimizer is None and not _native.is_counted():
            training.leave_unless_around(self.frame)
        if _native.begin_compiled_update(optimizer) == UPDATE_UNSETTLED:
            training.framework = "tensorflow"
            before = training.fit_began
            training.settle_update(optimizer, self.frame)
            if optimizer is None and training.fit_began != before:
                _native.fit_update(own_facts())

    def end(self) -> None:
        here.call = None
        end_function(self.stage)
        if self.assigns and not self.is_updating and not self.is_known:
            # Outside any loop it was called for another reason.
            self.updates_itself = bool(_loops.identities(self.frame))
            if self.updates_itself:
                self.update(None)
        self.frame = self.inputs = None
        if self.is_updating:
            self._end_update()
        elif not self.is_known and self.calls_model:
            # An evaluation, as has turned out: the pass it is in is one from its begin on.
            begin_model(MODEL, False)
            end_call()
        self.is_known = True
        self.sources.clear()

    def _end_update(self) -> None:
        self.is_updating = False
        optimizer, self.optimizer = self.optimizer, None
        _native.end_compiled_update(optimizer)
        if optimizer is not None:
            # Only now: that imports Keras, whose optimizer this is.
            from ..keras.facts import record_weights

            record_weights(optimizer)
        if not self.is_known:
            _native.fit_update({"compiled": self.name})


def attach() -> None:
    """Hooks the call of a `tf.function`."""
    _guard.replace(
        type(tf.function(lambda: None)), "__call__", around(_begin_function, _end_function)
    )


def _begin_function(args: Any, kwargs: Any) -> tuple[Call, bool] | None:
    function = args[0]
    if is_inside() or not is_scripts() or function._run_functions_eagerly:
        return None
    call = function.__dict__.get("_laptime_call") or _new_call(function)
    if call is None:
        return None
    evaluates = call.evaluates
    if evaluates:
        begin_model(MODEL, False)
    else:
        _begin_call(call, args[1:] or tuple(kwargs.values()))
    return call, evaluates


def _end_function(begun: tuple[Call, bool]) -> None:
    call, evaluates = begun
    end_call() if evaluates else _end_call(call)


@_guard.safely
def _new_call(function: Any) -> Call:
    call = function.__dict__["_laptime_call"] = Call(function.__name__)
    return call


@_guard.safely
def _begin_call(call: Call, inputs: Any) -> None:
    call.begin(caller(), inputs)


@_guard.safely
def _end_call(call: Call) -> None:
    call.end()


def attach_variables() -> None:
    """Hooks assignments, which say that a function trains without an optimizer."""
    from tensorflow.python.ops.resource_variable_ops import ResourceVariable

    for name in ("assign", "assign_add", "assign_sub"):
        _guard.replace(ResourceVariable, name, before(_on_assign))


def _on_assign(args: Any, kwargs: Any) -> None:
    call = here.call
    if call is not None and id(args[0]) in call.sources:
        call.assigns = True
