"""Keras' models and optimizers in loops that a script writes itself, on TensorFlow."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import keras

from . import _guard, _native, _training
from . import tensorflow as hooks
from ._native import (
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
from .keras import here

_OPTIMIZER = _native.stage_id("optimizer")
_UNSETTLED = 1


def attach() -> None:
    """Hooks models and optimizers; inside `fit` they only tell stages, of a train function that runs eagerly."""
    _training.OPTIMIZER_FACTS.append((keras.optimizers.Optimizer, optimizer_facts))
    _guard.attach("keras.Model.__call__", _attach_models)
    _guard.attach("keras.Optimizer", _attach_optimizers)


def optimizer_facts(optimizer: Any) -> dict[str, Any]:
    """What an optimizer tells of a fit; its parameters are known from its first update on."""
    from ._keras_fit import count_parameters, learning_facts

    facts = {"framework": "tensorflow"} | learning_facts(optimizer)
    facts["parameters"] = count_parameters(getattr(optimizer, "_trainable_variables", ()))
    return facts


# Models.


def _attach_models() -> None:
    _guard.replace(keras.Model, "__call__", _make_call)


def _make_call(original: Callable[..., Any]) -> Callable[..., Any]:
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if here.depth:
            return original(self, *args, **kwargs)
        if is_inside():
            _see_inner(self, args, kwargs)
            return original(self, *args, **kwargs)
        if not hooks.executing_eagerly() or kwargs.get("training"):
            return original(self, *args, **kwargs)
        begin_model(self, False)
        try:
            return original(self, *args, **kwargs)
        finally:
            end_call()

    return __call__


@_guard.safely
def _see_inner(model: Any, args: Any, kwargs: Any) -> None:
    """A call inside a tape, or while a function is traced."""
    if not hooks.executing_eagerly():
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
        original(self, *args, **kwargs)
        _see_optimizer(self)

    return __init__


@_guard.safely
def _see_optimizer(optimizer: Any) -> None:
    _training.here.training.see_birth(optimizer, sys._getframe(2))


def _make_apply(original: Callable[..., Any]) -> Callable[..., Any]:
    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        if here.depth:
            return _apply_in_fit(original, self, args, kwargs)
        if not hooks.executing_eagerly():
            _see_traced(self)
            return original(self, *args, **kwargs)
        found = begin_update(self)
        if found:
            if found != _UNSETTLED:
                return original(self, *args, **kwargs)
            _settle_update(self)
            enter_update()
        try:
            result = original(self, *args, **kwargs)
        except BaseException:
            leave_update()
            raise
        end_update(self)
        _count_parameters(self)
        return result

    return apply


def _apply_in_fit(original: Callable[..., Any], optimizer: Any, args: Any, kwargs: Any) -> Any:
    if here.fit is None or not hooks.executing_eagerly():
        return original(optimizer, *args, **kwargs)
    enter(_OPTIMIZER)
    try:
        return original(optimizer, *args, **kwargs)
    finally:
        exit(_OPTIMIZER)


@_guard.safely
def _see_traced(optimizer: Any) -> None:
    if hooks.here.call is not None:
        # Outside the graph that is being traced, where numbers can be read.
        with hooks.tf.init_scope():
            hooks.here.call.update(optimizer)


@_guard.safely
def _settle_update(optimizer: Any) -> None:
    # The caller of `apply`: this function stands inside its guard, which stands inside `apply`.
    _training.here.training.settle_update(optimizer, sys._getframe(3))


@_guard.safely
def _count_parameters(optimizer: Any) -> None:
    _training.here.training.count_parameters(optimizer)
