"""Copies: tensors that go from the host to a device, and back."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.compiler import is_dynamo_compiling

from .. import _guard, _native
from .._native import begin_device_work, count, end_device_work
from .device import begin, when_used
from .sizes import untracked

_HOST_TO_DEVICE = _native.stage_id("host_to_device")
_DEVICE_WAIT = _native.stage_id("device_wait")

# A tensor of another kind has copies of its own, which its `__torch_function__` sees.
PLAIN = (torch.Tensor, nn.Parameter)

# A copy under way: its stage, and what came before it.
_Copy = tuple[int, int]
# What is copied, whether to a device, and whether the host waits for it.
_Found = tuple[Any, bool, bool]


def attach() -> None:
    """Copies are watched from the first one on; where there is no driver a script never pays for it."""
    if torch.version.cuda is not None and os.path.exists("/dev/nvidiactl"):
        _watch_copies()
    else:
        when_used(_watch_copies)


@_guard.safely
def _watch_copies() -> None:
    for name, find in (
        ("to", _find_to),
        ("cuda", _find_cuda),
        ("cpu", _find_cpu),
        ("copy_", _find_copy),
    ):
        replace_method(name, _copying(find))


def replace_method(name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
    """Puts a hook in the place of a tensor's method."""
    original = getattr(torch.Tensor, name)
    _guard.replace(torch.Tensor, name, make)
    allow_as(original, getattr(torch.Tensor, name))


def allow_as(original: Any, replacement: Any) -> None:
    """Lets a parameter that has no shape yet have a method of ours where it has the original."""
    # Torch made this list of its own methods before ours stood in their place.
    allowed = nn.parameter.UninitializedTensorMixin._allowed_methods
    if original in allowed:
        allowed.append(replacement)


# Which way a call copies; `None` when it copies nothing between host and device.


def _find_to(tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Found | None:
    target = args[0] if args else kwargs.get("device", kwargs.get("other"))
    blocks = not (kwargs.get("non_blocking") or any(value is True for value in args[1:3]))
    if tensor.is_cuda:
        return (tensor, False, blocks) if _is_host(target) else None
    return (tensor, True, blocks) if is_device(target) else None


def _find_cuda(tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Found | None:
    blocks = not (kwargs.get("non_blocking") or args[1:2] == (True,))
    return None if tensor.is_cuda else (tensor, True, blocks)


def _find_cpu(tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Found | None:
    return (tensor, False, True) if tensor.is_cuda else None


def _find_copy(tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Found | None:
    source: Any = args[0] if args else kwargs.get("src")
    if type(source) not in PLAIN or source.is_cuda == tensor.is_cuda:
        return None
    blocks = not (kwargs.get("non_blocking") or args[1:2] == (True,))
    return source, tensor.is_cuda, blocks


def is_device(target: Any) -> bool:
    """Whether what a tensor is sent to is a GPU."""
    if isinstance(target, torch.Tensor):
        return target.is_cuda
    if isinstance(target, torch.device):
        return target.type == "cuda"
    return type(target) is int or (isinstance(target, str) and target.startswith("cuda"))


def _is_host(target: Any) -> bool:
    if isinstance(target, torch.Tensor):
        return target.is_cpu
    if isinstance(target, torch.device):
        return target.type == "cpu"
    return isinstance(target, str) and target == "cpu"


def _copying(
    find: Callable[[Any, tuple[Any, ...], dict[str, Any]], _Found | None],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a method whose copies between host and device are on record."""

    @_guard.safely
    def begin(tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Copy | None:
        with untracked():
            found = find(tensor, args, kwargs)
            return None if found is None else _begin_copy(*found)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def copy(self: Any, *args: Any, **kwargs: Any) -> Any:
            if is_dynamo_compiling() or type(self) not in PLAIN:
                return original(self, *args, **kwargs)
            copying = begin(self, args, kwargs)
            if copying is None:
                return original(self, *args, **kwargs)
            try:
                return original(self, *args, **kwargs)
            except BaseException as error:
                _guard.hide_frame(error)
                raise
            finally:
                _end_copy(copying)

        return copy

    return make


def _begin_copy(source: Any, to_device: bool, blocks: bool) -> _Copy:
    size = source.nbytes
    if not to_device:
        count("device_to_host_bytes", size)
        return _DEVICE_WAIT, begin_device_work(_DEVICE_WAIT)
    count("host_to_device_bytes", size)
    is_pageable = not source.is_pinned()
    if is_pageable:
        count("pageable_bytes", size)
    # A copy from memory that is not pinned waits for its data to be staged, whatever was asked for.
    if blocks or is_pageable:
        count("blocking_bytes", size)
    return _HOST_TO_DEVICE, begin_device_work(_HOST_TO_DEVICE)


@_guard.safely
def _end_copy(copying: _Copy) -> None:
    stage, before = copying
    end_device_work(stage, before)
    if stage == _HOST_TO_DEVICE:
        # The first copy is what makes torch use the device.
        begin()
        _native.moved_to_device()
