"""Waits: calls that block until a device has computed what they ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling

from .. import _guard, _native
from .._native import begin_device_work, end_device_work
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
        replace_method(name, _waiting(_is_on_device))
    wait = _waiting(_always)
    cuda = torch.cuda
    _guard.replace(cuda, "synchronize", wait)
    for owner in (cuda.Stream, cuda.Event):
        _guard.replace(owner, "synchronize", wait)


def _waiting(waits: Callable[[Any], bool | None]) -> Callable[[Any], Callable[..., Any]]:
    """Makes a function whose calls are a wait for the device where `waits` says so of their arguments."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def waiting(*args: Any, **kwargs: Any) -> Any:
            if is_dynamo_compiling() or not waits(args):
                return original(*args, **kwargs)
            # Kept here: other threads wait too, and one wait may call another.
            before = begin_device_work(_DEVICE_WAIT)
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                _guard.hide_frame(error)
                raise
            finally:
                end_device_work(_DEVICE_WAIT, before)

        return waiting

    return make


def _always(_: Any) -> bool:
    return True


@_guard.safely
def _is_on_device(args: tuple[Any, ...]) -> bool:
    if not args or type(args[0]) not in PLAIN:
        return False
    with untracked():
        return args[0].is_cuda
