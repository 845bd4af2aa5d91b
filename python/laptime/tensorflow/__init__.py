"""TensorFlow without a line of code: loops over `tf.data` with a `GradientTape`, eager or compiled.

Attached by the start-up hook when TensorFlow is imported. What Keras does inside `fit` is `laptime.keras`'.
Inside a `tf.function` nothing can be timed: a call of it is one stage, named like the function. What it is
for, training or evaluation, is seen while TensorFlow traces it.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import tensorflow as tf

from .. import _frameworks, _guard, _loops, _native, _passes, _training
from .._native import (
    MODULE_MODEL,
    UPDATE_UNSETTLED,
    ask,
    begin_backward,
    begin_function,
    begin_model,
    end_backward,
    end_call,
    end_function,
    end_wait,
    enter,
    exit,
    is_inside,
    pause_steps,
    take_batch,
)
from .._passes import owned
from .._samples import samples_of
from ..keras import here as keras

_BACKWARD = _native.stage_id("backward")
_CHECKPOINT = _native.stage_id("checkpoint")
_FORWARD = _native.stage_id("forward")

executing_eagerly = tf.executing_eagerly

_attached = False


class _Model:
    """Stands for whatever a tape records: its calls are not all of one model."""


_MODEL = _Model()


class _Here(threading.local):
    """What TensorFlow does on the calling thread."""

    def __init__(self) -> None:
        _native.know_module(_MODEL, MODULE_MODEL)
        _native.train_model(_MODEL)
        self.in_tape = False
        self.wants_samples = False
        # The compiled function that is called, and by whom.
        self.call: Call | None = None


here = _Here()


def attach() -> None:
    """Attaches every hook once; the run says what cannot attach."""
    global _attached
    if _attached:
        return
    _attached = True
    _frameworks.register("tensorflow", data=(tf.data.Dataset, dataset_facts))
    _guard.attach("tf.data", _attach_data)
    _guard.attach("GradientTape", _attach_tape)
    _guard.attach("tf.function", _attach_function)
    _guard.attach("tf.Variable", _attach_variables)
    _guard.attach("tf.train.Checkpoint", _attach_checkpoint)
    _training.end_with_script()


# Data.


def iterator_type() -> type:
    """The iterator of a dataset on one device."""
    from tensorflow.python.data.ops import iterator_ops

    return iterator_ops.OwnedIterator


def plain_next() -> Callable[[Any], Any]:
    """TensorFlow's own `__next__`, for whoever times it himself."""
    found: Any = iterator_type().__next__  # type: ignore[attr-defined]
    return getattr(found, "__wrapped__", found)


def _attach_data() -> None:
    _guard.replace(tf.data.Dataset, "__iter__", _make_iter)
    _guard.replace(iterator_type(), "__next__", _make_next)
    _guard.replace(iterator_type(), "get_next", _make_next)


def _is_scripts() -> bool:
    """Whether the script itself does what is done here: not Keras, and not while a function is traced."""
    return not owned.depth and executing_eagerly()


def _make_iter(original: Callable[..., Any]) -> Callable[..., Any]:
    def __iter__(self: Any) -> Any:
        is_pass = not is_inside() and _is_scripts()
        ticket = _passes.begin_pass(self) if is_pass else None
        try:
            iterator = original(self)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            if ticket is not None:
                end_wait()
        if is_pass:
            _passes.keep(iterator, ticket)
        return iterator

    return __iter__


def _make_next(original: Callable[..., Any]) -> Callable[..., Any]:
    def __next__(self: Any) -> Any:
        ticket = getattr(self, "_laptime_ticket", None)
        if ticket is not None and not _is_scripts():
            ticket = None
        if ticket is not None:
            ask(self)
        try:
            batch = original(self)
        except BaseException as error:
            if ticket is not None:
                end_wait()
                if isinstance(error, (StopIteration, tf.errors.OutOfRangeError)):
                    _passes.linger(ticket)
            _guard.unseen(error)
            raise
        if ticket is not None and take_batch(self, batch):
            _native.count_samples(self, _samples(batch) or 0)
        return batch

    return __next__


@_guard.safely
def _samples(batch: Any) -> int:
    return samples_of(batch)


def dataset_facts(dataset: Any) -> dict[str, Any]:
    """What a dataset tells of a fit; its rows are counted in the first epoch."""
    batches = int(dataset.cardinality())
    return {"steps_per_epoch": batches} if batches >= 0 else {}


def own_facts() -> dict[str, Any]:
    """What is known of a fit that has no optimizer."""
    device = "gpu:0" if tf.config.list_logical_devices("GPU") else "cpu"
    return {"framework_version": tf.__version__, "device": device}


# Gradients.


def _attach_tape() -> None:
    _guard.replace(tf.GradientTape, "__enter__", _make_enter)
    _guard.replace(tf.GradientTape, "__exit__", _make_exit)
    _guard.replace(tf.GradientTape, "gradient", _make_gradient)


def _make_enter(original: Callable[..., Any]) -> Callable[..., Any]:
    def __enter__(self: Any) -> Any:
        if executing_eagerly():
            _begin_tape(self)
        return original(self)

    return __enter__


def _make_exit(original: Callable[..., Any]) -> Callable[..., Any]:
    def __exit__(self: Any, *error: Any) -> Any:
        try:
            return original(self, *error)
        except BaseException as raised:
            _guard.unseen(raised)
            raise
        finally:
            stage = self.__dict__.pop("_laptime_stage", None)
            if stage is not None:
                _end_tape(stage)

    return __exit__


@_guard.safely
def _begin_tape(tape: Any) -> None:
    if here.in_tape or is_inside():
        return
    if owned.depth:
        if keras.fit is None:
            return
        enter(_FORWARD)
        tape._laptime_stage = _FORWARD
    else:
        here.wants_samples = begin_model(_MODEL, True)
        tape._laptime_stage = _FORWARD
    here.in_tape = True


@_guard.safely
def _end_tape(stage: int) -> None:
    here.in_tape = False
    if owned.depth:
        exit(stage)
    else:
        end_call()


def _make_gradient(original: Callable[..., Any]) -> Callable[..., Any]:
    def gradient(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not executing_eagerly():
            if not owned.depth:
                _see_traced_gradient(args, kwargs)
        elif not owned.depth:
            begin_backward(None)
        elif keras.fit is not None:
            enter(_BACKWARD)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            _end_gradient()
            raise
        if _end_gradient():
            _settle_own_step(sys._getframe().f_back)
        return result

    return gradient


def _end_gradient() -> bool:
    """Says whether the gradients are for an update of the script's own."""
    if not executing_eagerly():
        return False
    if not owned.depth:
        return bool(end_backward())
    if keras.fit is not None:
        exit(_BACKWARD)
    return False


@_guard.safely
def _see_traced_gradient(args: Any, kwargs: Any) -> None:
    """A function that is traced computes gradients: those of which variables?"""
    if here.call is not None and not here.call.is_known:
        sources = tf.nest.flatten(args[1] if len(args) > 1 else kwargs.get("sources"))
        here.call.sources.update(id(getattr(source, "_value", source)) for source in sources)


@_guard.safely
def _settle_own_step(frame: FrameType | None) -> None:
    training = _training.here.training
    before = training.fit_began
    training.settle_own_step(frame, "tensorflow")
    if training.fit_began != before:
        _native.fit_update(own_facts())


def see_model(model: Any, inputs: Any) -> None:
    """A model is called while a tape records: it is trained."""
    if here.wants_samples:
        here.wants_samples = False
        _native.take_samples(samples_of(inputs))
    training = _training.here.training
    if id(model) not in training.modules:
        training.see_module(model, MODULE_MODEL)
        training.see_model(model, type(model).__name__)


# Compiled functions.


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
            begin_model(_MODEL, False)
            end_call()
        self.is_known = True
        self.sources.clear()

    def _end_update(self) -> None:
        self.is_updating = False
        optimizer, self.optimizer = self.optimizer, None
        _native.end_compiled_update(optimizer)
        if optimizer is not None:
            # Only now: that imports Keras, whose optimizer this is.
            from ..keras.facts import see_weights

            see_weights(optimizer)
        if not self.is_known:
            _native.fit_update({"compiled": self.name})


def _attach_function() -> None:
    _guard.replace(type(tf.function(lambda: None)), "__call__", _make_call)


def _make_call(original: Callable[..., Any]) -> Callable[..., Any]:
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = None
        if not is_inside() and _is_scripts() and not self._run_functions_eagerly:
            call = self.__dict__.get("_laptime_call") or _see_function(self)
        evaluates = call is not None and call.evaluates
        if evaluates:
            begin_model(_MODEL, False)
        elif call is not None:
            _begin_call(call, sys._getframe().f_back, args or tuple(kwargs.values()))
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            if evaluates:
                end_call()
            elif call is not None:
                _end_call(call)

    return __call__


@_guard.safely
def _see_function(function: Any) -> Call:
    call = function.__dict__["_laptime_call"] = Call(function.__name__)
    return call


@_guard.safely
def _begin_call(call: Call, frame: Any, inputs: Any) -> None:
    call.begin(frame, inputs)


@_guard.safely
def _end_call(call: Call) -> None:
    call.end()


def _attach_variables() -> None:
    from tensorflow.python.ops.resource_variable_ops import ResourceVariable

    for name in ("assign", "assign_add", "assign_sub"):
        _guard.replace(ResourceVariable, name, _make_assign)


def _make_assign(original: Callable[..., Any]) -> Callable[..., Any]:
    def assign(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = here.call
        if call is not None and id(self) in call.sources:
            call.assigns = True
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise

    return assign


# Saving.


def _attach_checkpoint() -> None:
    for kind in (tf.train.Checkpoint, tf.train.CheckpointManager):
        _guard.replace(kind, "save", _make_save)


def _make_save(original: Callable[..., Any]) -> Callable[..., Any]:
    def save(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_scripts = _is_scripts()
        if is_scripts:
            _passes.settle()
            pause_steps()
            enter(_CHECKPOINT)
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            if is_scripts:
                exit(_CHECKPOINT)
                _native.see_activity()

    return save
