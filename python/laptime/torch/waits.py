"""Waits: calls that block until a device has computed what they ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling

from .. import _guard, _native
from .._native import begin_device_work, end_device_work
from .around import around
from .copies import PLAIN, replace_method
from .device import when_used
from .sizes import untracked

_DEVICE_WAIT = _native.stage_id("device_wait")

# An index by a mask waits too, but to look at every index would slow down every script.
_METHODS = ("item", "tolist", "nonzero", "__float__", "__int__", "__bool__")


def attach() -> None:
    """Waits are watched from the moment there is a device."""
    when_used(_watch_waits)


@_guard.safely
def _watch_waits() -> None:
    for name in _METHODS:
        replace_method(name, _make_method)
    wait = around(_begin_wait, _end_wait)
    cuda = torch.cuda
    _guard.replace(cuda, "synchronize", wait)
    for owner in (cuda.Stream, cuda.Event):
        _guard.replace(owner, "synchronize", wait)


def _make_method(original: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling() or not _is_on_device(self):
            return original(self, *args, **kwargs)
        _begin_wait()
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        finally:
            _end_wait()

    return method


@_guard.safely
def _is_on_device(tensor: Any) -> bool:
    if type(tensor) not in PLAIN:
        return False
    with untracked():
        return tensor.is_cuda


# What work was launched for before each wait that is under way: one may call another.
_before: list[int] = []


def _begin_wait() -> None:
    _before.append(begin_device_work(_DEVICE_WAIT))


def _end_wait() -> None:
    if _before:
        end_device_work(_DEVICE_WAIT, _before.pop())
