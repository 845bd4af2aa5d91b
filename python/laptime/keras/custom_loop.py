"""Keras' models and optimizers in loops that a script writes itself, and `train_on_batch`."""

from __future__ import annotations

import sys
from typing import Any

import keras

from .. import _frameworks, _guard, _native, _training
from .._around import after, around, caller, given
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
    """Hooks models and optimizers; inside `fit` they are only stages, of a train function that runs eagerly."""
    _frameworks.register("keras", optimizers=(keras.optimizers.Optimizer, optimizer_facts))
    if _BACKEND == "tensorflow":
        _frameworks.register("keras", models=(keras.Model, model_facts))
        # On torch a model is a module, which torch's hooks see.
        _guard.attach("keras.Model.__call__", _attach_models)
    _guard.attach("keras.Optimizer", _attach_optimizers)
    _guard.attach("train_on_batch", _attach_train_on_batch)
    _training.end_with_script()


def optimizer_facts(optimizer: Any) -> dict[str, Any]:
    """What an optimizer says of a fit; its parameters are known from its first update on."""
    facts = _weight_facts(getattr(optimizer, "_trainable_variables", ()))
    return facts | keras_facts.learning_facts(optimizer)


def model_facts(model: Any) -> dict[str, Any]:
    """What a model says of a fit whose script updates it itself."""
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
    _guard.replace(keras.Model, "__call__", around(_begin_model, _end_model))


def _begin_model(args: Any, kwargs: Any) -> bool | None:
    if owned.depth:
        return None
    if is_inside():
        _on_inner_call(args[0], args[1:], kwargs)
        return None
    if is_traced() or kwargs.get("training"):
        return None
    begin_model(args[0], False)
    return True


def _end_model(_: Any) -> None:
    end_call()


@_guard.safely
def _on_inner_call(model: Any, args: Any, kwargs: Any) -> None:
    """A call inside a tape, or while a function is traced."""
    if is_traced():
        if hooks.here.call is not None:
            hooks.here.call.calls_model = True
    elif hooks.here.in_tape:
        hooks.register_model(model, args or tuple(kwargs.values()))


# Optimizers.


def _attach_optimizers() -> None:
    kind = keras.optimizers.Optimizer
    _guard.replace(kind, "__init__", after(_optimizer_created))
    _guard.replace(kind, "apply", around(_begin_apply, _end_apply, _fail_apply))


@_guard.safely
def _optimizer_created(args: Any) -> None:
    _training.here.training.optimizer_created(args[0], caller(), foreign=True)


def _begin_apply(args: Any, kwargs: Any) -> Any:
    """Gives the optimizer of an update, or the stage of one inside `fit`."""
    if is_traced():
        if _BACKEND == "tensorflow" and not owned.depth:
            _on_traced_update(args[0])
        return None
    if owned.depth:
        if here.fit is None:
            return None
        enter(_OPTIMIZER)
        return _OPTIMIZER
    found = begin_update(args[0])
    if found == UPDATE_UNSETTLED:
        _settle_update(args[0])
        enter_update()
    # Not part of another one.
    return args[0] if found in (UPDATE_BEGUN, UPDATE_UNSETTLED) else None


def _end_apply(begun: Any) -> None:
    if begun is _OPTIMIZER:
        exit(_OPTIMIZER)
    else:
        end_update(begun)
        _record_weights(begun)


def _fail_apply(begun: Any) -> None:
    exit(_OPTIMIZER) if begun is _OPTIMIZER else leave_update()


@_guard.safely
def _on_traced_update(optimizer: Any) -> None:
    if hooks.here.call is not None:
        # Outside the graph that is being traced, where numbers can be read.
        with hooks.tf.init_scope():
            hooks.here.call.update(optimizer)


@_guard.safely
def _settle_update(optimizer: Any) -> None:
    _training.here.training.settle_update(optimizer, caller())


@_guard.safely
def _record_weights(optimizer: Any) -> None:
    keras_facts.record_weights(optimizer)


# Batches that the script trains on one by one.


def _attach_train_on_batch() -> None:
    _guard.replace(keras.Model, "train_on_batch", around(_enter_batch, _OnBatch.end, _OnBatch.fail))
    _guard.replace(keras.Model, "test_on_batch", around(_enter_test, _leave_test))


class _OnBatch:
    """A `train_on_batch` that is under way."""

    __slots__ = ("in_parts", "is_begun", "model")

    def __init__(self, model: Any, data: Any) -> None:
        self.model = model
        # On torch the calls inside are stages of their own.
        self.in_parts = _BACKEND == "torch" and not keras_facts.is_compiled(model)
        self.is_begun = False
        if self.in_parts:
            here.on_batch = True
            approach_step()
            enter(_TRAIN_FUNCTION)
        else:
            self.is_begun = _begin_batch(model, data)
            owned.depth += 1

    def end(self) -> None:
        self._leave()
        if self.is_begun:
            _end_batch(self.model)

    def fail(self) -> None:
        self._leave()
        _leave_batch(self.is_begun)

    def _leave(self) -> None:
        if self.in_parts:
            exit(_TRAIN_FUNCTION)
            here.on_batch = False
        else:
            owned.depth -= 1


def _enter_batch(args: Any, kwargs: Any) -> _OnBatch | None:
    if owned.depth or is_inside():
        return None
    return _OnBatch(args[0], given("x", 1, args, kwargs))


@_guard.safely
def _begin_batch(model: Any, data: Any) -> bool:
    """A step begins whose stages cannot be separated."""
    training = _training.here.training
    _native.begin_function(_TRAIN_FUNCTION, True)
    here.on_batch = True
    if not _native.has_passes():
        _native.take_samples(samples_of(data))
    if id(model) not in training.modules:
        training.register_module(model, MODULE_MODEL)
        training.register_model(model, type(model).__name__)
    if _native.begin_compiled_update(model.optimizer) == UPDATE_UNSETTLED:
        training.settle_update(model.optimizer, caller())
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
    keras_facts.record_weights(model.optimizer)


def _enter_test(args: Any, kwargs: Any) -> bool:
    is_ours = not owned.depth and not is_inside()
    if is_ours:
        begin_model(args[0], False)
    owned.depth += 1
    return is_ours


def _leave_test(was_ours: bool) -> None:
    owned.depth -= 1
    if was_ours:
        end_call()
