"""Optimizers: updates, and what belongs to them: zeroed and clipped gradients, schedules, scaled losses."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling

from .. import _guard, _native
from .._native import (
    UPDATE_NESTED,
    UPDATE_UNSETTLED,
    begin_update,
    begin_zero,
    end_update,
    end_zero,
    enter,
    enter_update,
    exit,
    leave_update,
)
from .._training import here
from . import graphs
from .around import around
from .computing import note_optimizer, note_zeroed
from .device import begin as begin_device

_OPTIMIZER = _native.stage_id("optimizer")


def _make_zero_grad(original: Callable[..., Any]) -> Callable[..., Any]:
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(self, *args, **kwargs)
        begin_zero(self)
        if args or kwargs:
            note_zeroed(args, kwargs)
        try:
            original(self, *args, **kwargs) if args or kwargs else original(self)
        except BaseException as error:
            end_zero()
            _guard.hide_frame(error)
            raise
        end_zero()

    return zero_grad


def attach() -> None:
    """Hooks every kind of optimizer when the first of it is made."""
    # Each class gets its `step` wrapped by torch when the first of its kind is made; ours goes around it.
    _guard.replace(torch.optim.Optimizer, "_patch_step_function", _make_patch_step)
    _guard.replace(torch.optim.Optimizer, "zero_grad", _make_zero_grad)


def _make_patch_step(original: Callable[..., Any]) -> Callable[..., Any]:
    def _patch_step_function(self: Any) -> Any:
        result = original(self)
        _optimizer_created(self, sys._getframe())
        return result

    return _patch_step_function


@_guard.safely
def _optimizer_created(optimizer: Any, frame: FrameType | None) -> None:
    _guard.replace(type(optimizer), "step", _make_step)
    begin_device()
    note_optimizer(optimizer)
    foreign = not type(optimizer).__module__.startswith("torch.optim")
    here.training.optimizer_created(optimizer, frame, foreign=foreign)


def _make_step(original: Callable[..., Any]) -> Callable[..., Any]:
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(self, *args, **kwargs)
        found = begin_update(self)
        nested = found == UPDATE_NESTED
        if found == UPDATE_UNSETTLED:
            _settle_update(self, sys._getframe().f_back)
            enter_update()
        try:
            result = original(self, *args, **kwargs) if args or kwargs else original(self)
        except BaseException as error:
            if not nested:
                leave_update()
            _guard.hide_frame(error)
            raise
        if nested:
            if graphs.captured is not None:
                graphs.captured.append(self)
            return result
        end_update(self)
        return result

    return step


@_guard.safely
def _settle_update(optimizer: Any, frame: FrameType | None) -> None:
    here.training.settle_update(optimizer, frame)


def attach_around() -> None:
    """What belongs to an update but is no optimizer's: clipped gradients, schedules, scaled losses."""
    part = around(_begin_update_part, _end_update_part)
    clip = torch.nn.utils.clip_grad
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        original = getattr(clip, name)
        _guard.replace(clip, name, part)
        if getattr(torch.nn.utils, name, None) is original:
            setattr(torch.nn.utils, name, getattr(clip, name))
    for schedule in (
        torch.optim.lr_scheduler.LRScheduler,
        torch.optim.lr_scheduler.ReduceLROnPlateau,
    ):
        _guard.replace(schedule, "step", part)
    for name in ("step", "unscale_", "update"):
        _guard.replace(torch.amp.GradScaler, name, part)


def _begin_update_part() -> None:
    enter(_OPTIMIZER)


def _end_update_part() -> None:
    exit(_OPTIMIZER)
