"""Copies: tensors that go from the host to a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.compiler import is_dynamo_compiling

from .. import _guard, _native
from .._native import enter, exit
from .sizes import untracked

_HOST_TO_DEVICE = _native.stage_id("host_to_device")

# A tensor of another kind has copies of its own, which its `__torch_function__` sees.
_PLAIN = (torch.Tensor, nn.Parameter)


def attach() -> None:
    """Copies to a device are watched from the moment there is one; a CPU script never pays for it."""
    if torch.cuda.is_initialized():
        _watch_copies()
    else:
        torch.cuda._lazy_call(_watch_copies)


@_guard.safely
def _watch_copies() -> None:
    allowed = nn.parameter.UninitializedTensorMixin._allowed_methods
    for name, make in (("to", _copying()), ("cuda", _copying(("cuda",)))):
        original = getattr(torch.Tensor, name)
        _guard.replace(torch.Tensor, name, make)
        # Torch made this list of its own methods before ours stood in their place.
        if original in allowed:
            allowed.append(getattr(torch.Tensor, name))


def _leaves_host(tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether this copy goes from the host to a device; a tensor of a user's own kind is left alone."""
    if type(tensor) not in _PLAIN:
        return False
    with untracked():
        return not tensor.is_cuda and _goes_to_device(args, kwargs)


def _goes_to_device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    target = args[0] if args else kwargs.get("device", kwargs.get("other"))
    if isinstance(target, torch.Tensor):
        return target.is_cuda
    if isinstance(target, torch.device):
        return target.type == "cuda"
    return isinstance(target, int) or (isinstance(target, str) and target.startswith("cuda"))


def _copying(target: tuple[Any, ...] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a copy to a target, or to where the arguments say."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def copy(self: Any, *args: Any, **kwargs: Any) -> Any:
            if is_dynamo_compiling():
                return original(self, *args, **kwargs)
            leaves = _begin_copy(self, target or args, kwargs)
            try:
                moved = original(self, *args, **kwargs)
            except BaseException as error:
                _end_copy(leaves, None)
                _guard.hide_frame(error)
                raise
            _end_copy(leaves, moved)
            return moved

        return copy

    return make


@_guard.safely
def _begin_copy(tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    leaves = _leaves_host(tensor, args, kwargs)
    if leaves:
        enter(_HOST_TO_DEVICE)
    return leaves


@_guard.safely
def _end_copy(leaves: bool | None, moved: Any) -> None:
    if not leaves:
        return
    exit(_HOST_TO_DEVICE)
    if moved is not None:
        with untracked():
            _native.count("host_to_device_bytes", moved.nbytes)
        _native.moved_to_device()
