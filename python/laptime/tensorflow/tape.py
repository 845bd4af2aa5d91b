"""Tape: forward and backward passes of a `GradientTape`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import tensorflow as tf

from .. import _guard, _native, _training
from .._native import begin_backward, begin_model, end_backward, end_call, enter, exit, is_inside
from .._passes import owned
from ..keras import here as keras
from .facts import own_facts
from .functions import MODEL, here

_BACKWARD = _native.stage_id("backward")
_FORWARD = _native.stage_id("forward")

executing_eagerly = tf.executing_eagerly


def attach() -> None:
    """Hooks tapes and their gradients."""
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
            _guard.hide_frame(raised)
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
        here.wants_samples = begin_model(MODEL, True)
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
                _on_traced_gradient(args, kwargs)
        elif not owned.depth:
            begin_backward(None)
        elif keras.fit is not None:
            enter(_BACKWARD)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
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
def _on_traced_gradient(args: Any, kwargs: Any) -> None:
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
