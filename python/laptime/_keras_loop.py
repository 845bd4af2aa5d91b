"""Keras' models and optimizers in loops that a script writes itself, and `train_on_batch`."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from typing import Any

import keras

from . import _guard, _keras_facts, _loops, _native, _passes, _training
from ._native import (
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
from ._keras_facts import is_traced
from ._samples import samples_of
from .keras import here

_OPTIMIZER = _native.stage_id("optimizer")
_TRAIN_FUNCTION = _native.stage_id("train_function")
_UNSETTLED = 1

_BACKEND = keras.backend.backend()

if _BACKEND == "tensorflow":
    from . import tensorflow as hooks


def attach() -> None:
    """Hooks models and optimizers; inside `fit` they only tell stages, of a train function that runs eagerly."""
    _training.OPTIMIZER_FACTS.append((keras.optimizers.Optimizer, optimizer_facts))
    if _BACKEND == "tensorflow":
        _training.MODEL_FACTS.append((keras.Model, model_facts))
        # On torch a model is a module, which torch's hooks see.
        _guard.attach("keras.Model.__call__", _attach_models)
    _guard.attach("keras.Optimizer", _attach_optimizers)
    _guard.attach("train_on_batch", _attach_train_on_batch)
    atexit.register(_end_training)


@_guard.safely
def _end_training() -> None:
    """The script ends, and with it what it trains."""
    _passes.settle()
    _training.here.training.end_fit()
    _training.here.training.forget()
    _loops.forget()


def optimizer_facts(optimizer: Any) -> dict[str, Any]:
    """What an optimizer tells of a fit; its parameters are known from its first update on."""
    facts = _weight_facts(getattr(optimizer, "_trainable_variables", ()))
    return facts | _keras_facts.learning_facts(optimizer)


def model_facts(model: Any) -> dict[str, Any]:
    """What a model tells of a fit whose script updates it itself."""
    return _weight_facts(model.trainable_weights)


def _weight_facts(weights: Any) -> dict[str, Any]:
    if here.on_batch:
        facts = {"framework": "keras"} | _keras_facts.version_facts()
    else:
        version = getattr(sys.modules.get(_BACKEND), "__version__", None)
        facts = {"framework": _BACKEND, "framework_version": version}
    facts |= _keras_facts.device_facts(weights)
    return facts | {"parameters": _keras_facts.count_parameters(weights)}


# Models.


def _attach_models() -> None:
    _guard.replace(keras.Model, "__call__", _make_call)


def _make_call(original: Callable[..., Any]) -> Callable[..., Any]:
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_stage = False
        if not here.depth:
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
        _see_optimizer(self)

    return __init__


@_guard.safely
def _see_optimizer(optimizer: Any) -> None:
    _training.here.training.see_birth(optimizer, sys._getframe(2))


def _make_apply(original: Callable[..., Any]) -> Callable[..., Any]:
    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_stage = is_update = False
        if is_traced():
            if _BACKEND == "tensorflow" and not here.depth:
                _see_traced(self)
        elif here.depth:
            is_stage = here.fit is not None
            if is_stage:
                enter(_OPTIMIZER)
        else:
            is_update = _begin_update(self)
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


def _begin_update(optimizer: Any) -> bool:
    """Says whether this is an update of its own, and no part of another."""
    found = begin_update(optimizer)
    if found == _UNSETTLED:
        _settle_update(optimizer)
        enter_update()
    return found in (0, _UNSETTLED)


@_guard.safely
def _see_traced(optimizer: Any) -> None:
    if hooks.here.call is not None:
        # Outside the graph that is being traced, where numbers can be read.
        with hooks.tf.init_scope():
            hooks.here.call.update(optimizer)


@_guard.safely
def _settle_update(optimizer: Any) -> None:
    # The caller of `apply`: this function stands inside its guard, and that two calls below `apply`.
    _training.here.training.settle_update(optimizer, sys._getframe(4))


@_guard.safely
def _see_weights(optimizer: Any) -> None:
    _keras_facts.see_weights(optimizer)


# Batches that the script trains on one by one.


def _attach_train_on_batch() -> None:
    _guard.replace(keras.Model, "train_on_batch", _make_train_on_batch)
    _guard.replace(keras.Model, "test_on_batch", _make_test_on_batch)


def _make_train_on_batch(original: Callable[..., Any]) -> Callable[..., Any]:
    def train_on_batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_ours = not here.depth and not is_inside()
        # On torch the calls inside tell what happens.
        in_parts = is_ours and _BACKEND == "torch" and not _keras_facts.is_compiled(self)
        is_begun = False
        if in_parts:
            here.on_batch = True
            approach_step()
            enter(_TRAIN_FUNCTION)
        elif is_ours:
            is_begun = _begin_batch(self, args[0] if args else kwargs.get("x"))
            here.depth += 1
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
                here.depth -= 1
        if is_begun:
            _end_batch(self)
        return result

    return train_on_batch


@_guard.safely
def _begin_batch(model: Any, data: Any) -> bool:
    """A step begins whose stages cannot be told apart."""
    training = _training.here.training
    _native.begin_function(_TRAIN_FUNCTION, True)
    here.on_batch = True
    if not _native.has_passes():
        _native.take_samples(samples_of(data))
    if id(model) not in training.modules:
        training.see_module(model, "model")
        training.see_model(model)
    if _native.begin_compiled_update(model.optimizer) == _UNSETTLED:
        # The caller of `train_on_batch`: this function stands inside its guard, which stands inside that.
        training.settle_update(model.optimizer, sys._getframe(3))
        if _keras_facts.is_compiled(model):
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
    _keras_facts.see_weights(model.optimizer)


def _make_test_on_batch(original: Callable[..., Any]) -> Callable[..., Any]:
    def test_on_batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_ours = not here.depth and not is_inside()
        if is_ours:
            begin_model(self, False)
        here.depth += 1
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            here.depth -= 1
            if is_ours:
                end_call()

    return test_on_batch
