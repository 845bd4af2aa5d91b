"""Keras' models and optimizers in loops that a script writes itself, and `train_on_batch`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import keras

from .. import _frameworks, _guard, _native, _training
from .._native import (
    MODULE_MODEL,
    UPDATE_BEGUN,
    UPDATE_UNSETTLED,
    approach_step,
    begin_model,
    begin_update,
    end_call,
    end_update,
    enter,
    enter_update,
    exit,
    is_inside,
    leave_update,
)
from .._passes import owned
from .._samples import samples_of
from . import facts as keras_facts
from . import here
from .facts import is_traced

_OPTIMIZER = _native.stage_id("optimizer")
_TRAIN_FUNCTION = _native.stage_id("train_function")

_BACKEND = keras.backend.backend()

if _BACKEND == "tensorflow":
    from ..tensorflow import functions as hooks


def attach() -> None:
    """Hooks models and optimizers; inside `fit` they only tell stages, of a train function that runs eagerly."""
    _frameworks.register("keras", optimizers=(keras.optimizers.Optimizer, optimizer_facts))
    if _BACKEND == "tensorflow":
        _frameworks.register("keras", models=(keras.Model, model_facts))
        # On torch a model is a module, which torch's hooks see.
        _guard.attach("keras.Model.__call__", _attach_models)
    _guard.attach("keras.Optimizer", _attach_optimizers)
    _guard.attach("train_on_batch", _attach_train_on_batch)
    _training.end_with_script()


def optimizer_facts(optimizer: Any) -> dict[str, Any]:
    """What an optimizer tells of a fit; its parameters are known from its first update on."""
    facts = _weight_facts(getattr(optimizer, "_trainable_variables", ()))
    return facts | keras_facts.learning_facts(optimizer)


def model_facts(model: Any) -> dict[str, Any]:
    """What a model tells of a fit whose script updates it itself."""
    return _weight_facts(model.trainable_weights)


def _weight_facts(weights: Any) -> dict[str, Any]:
    if here.on_batch:
        facts = {"framework": "keras"} | keras_facts.version_facts()
    else:
        version = getattr(sys.modules.get(_BACKEND), "__version__", None)
        facts = {"framework": _BACKEND, "framework_version": version}
    facts |= keras_facts.device_facts(weights)
    return facts | {"parameters": keras_facts.count_parameters(weights)}


# Models.


def _attach_models() -> None:
    _guard.replace(keras.Model, "__call__", _make_call)


def _make_call(original: Callable[..., Any]) -> Callable[..., Any]:
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_stage = False
        if not owned.depth:
            if is_inside():
                _see_inner(self, args, kwargs)
            elif not is_traced() and not kwargs.get("training"):
                is_stage = True
                begin_model(self, False)
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            if is_stage:
                end_call()

    return __call__


@_guard.safely
def _see_inner(model: Any, args: Any, kwargs: Any) -> None:
    """A call inside a tape, or while a function is traced."""
    if is_traced():
        if hooks.here.call is not None:
            hooks.here.call.calls_model = True
    elif hooks.here.in_tape:
        hooks.see_model(model, args or tuple(kwargs.values()))


# Optimizers.


def _attach_optimizers() -> None:
    _guard.replace(keras.optimizers.Optimizer, "__init__", _make_init)
    _guard.replace(keras.optimizers.Optimizer, "apply", _make_apply)


def _make_init(original: Callable[..., Any]) -> Callable[..., Any]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        _see_optimizer(self, sys._getframe())

    return __init__


@_guard.safely
def _see_optimizer(optimizer: Any, frame: FrameType | None) -> None:
    _training.here.training.see_birth(optimizer, frame, foreign=True)


def _make_apply(original: Callable[..., Any]) -> Callable[..., Any]:
    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_stage = is_update = False
        if is_traced():
            if _BACKEND == "tensorflow" and not owned.depth:
                _see_traced(self)
        elif owned.depth:
            is_stage = here.fit is not None
            if is_stage:
                enter(_OPTIMIZER)
        else:
            found = begin_update(self)
            if found == UPDATE_UNSETTLED:
                _settle_update(self, sys._getframe().f_back)
                enter_update()
            # Not part of another one.
            is_update = found in (UPDATE_BEGUN, UPDATE_UNSETTLED)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            if is_update:
                leave_update()
            raise
        finally:
            if is_stage:
                exit(_OPTIMIZER)
        if is_update:
            end_update(self)
            _see_weights(self)
        return result

    return apply


@_guard.safely
def _see_traced(optimizer: Any) -> None:
    if hooks.here.call is not None:
        # Outside the graph that is being traced, where numbers can be read.
        with hooks.tf.init_scope():
            hooks.here.call.update(optimizer)


@_guard.safely
def _settle_update(optimizer: Any, frame: FrameType | None) -> None:
    _training.here.training.settle_update(optimizer, frame)


@_guard.safely
def _see_weights(optimizer: Any) -> None:
    keras_facts.see_weights(optimizer)


# Batches that the script trains on one by one.


def _attach_train_on_batch() -> None:
    _guard.replace(keras.Model, "train_on_batch", _make_train_on_batch)
    _guard.replace(keras.Model, "test_on_batch", _make_test_on_batch)


def _make_train_on_batch(original: Callable[..., Any]) -> Callable[..., Any]:
    def train_on_batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_ours = not owned.depth and not is_inside()
        # On torch the calls inside tell what happens.
        in_parts = is_ours and _BACKEND == "torch" and not keras_facts.is_compiled(self)
        is_begun = False
        if in_parts:
            here.on_batch = True
            approach_step()
            enter(_TRAIN_FUNCTION)
        elif is_ours:
            data = args[0] if args else kwargs.get("x")
            is_begun = _begin_batch(self, data, sys._getframe().f_back)
            owned.depth += 1
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            _leave_batch(is_begun)
            raise
        finally:
            if in_parts:
                exit(_TRAIN_FUNCTION)
                here.on_batch = False
            elif is_ours:
                owned.depth -= 1
        if is_begun:
            _end_batch(self)
        return result

    return train_on_batch


@_guard.safely
def _begin_batch(model: Any, data: Any, frame: FrameType | None) -> bool:
    """A step begins whose stages cannot be told apart."""
    training = _training.here.training
    _native.begin_function(_TRAIN_FUNCTION, True)
    here.on_batch = True
    if not _native.has_passes():
        _native.take_samples(samples_of(data))
    if id(model) not in training.modules:
        training.see_module(model, MODULE_MODEL)
        training.see_model(model, type(model).__name__)
    if _native.begin_compiled_update(model.optimizer) == UPDATE_UNSETTLED:
        training.settle_update(model.optimizer, frame)
        if keras_facts.is_compiled(model):
            _native.fit_update({"compiled": "train_function"})
    return True


@_guard.safely
def _leave_batch(is_begun: bool) -> None:
    if is_begun:
        here.on_batch = False
        _native.end_function(_TRAIN_FUNCTION)


@_guard.safely
def _end_batch(model: Any) -> None:
    _leave_batch(True)
    _native.end_compiled_update(model.optimizer)
    keras_facts.see_weights(model.optimizer)


def _make_test_on_batch(original: Callable[..., Any]) -> Callable[..., Any]:
    def test_on_batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_ours = not owned.depth and not is_inside()
        if is_ours:
            begin_model(self, False)
        owned.depth += 1
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            owned.depth -= 1
            if is_ours:
                end_call()

    return test_on_batch
