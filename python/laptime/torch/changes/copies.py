"""Copies: a batch in pinned memory goes to the GPU while the host goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling

from ... import _changes, _guard
from ..copies import PLAIN, allow_as, is_device
from ..sizes import untracked


def attach() -> None:
    """Makes copies of pinned tensors to a GPU return at once."""
    for name, is_copy in (("to", _is_to_device), ("cuda", _is_cuda)):
        original = getattr(torch.Tensor, name)
        _changes.wrap(torch.Tensor, name, _make_copy(is_copy))
        allow_as(original, getattr(torch.Tensor, name))


def _make_copy(
    is_copy: Callable[[tuple[Any, ...], dict[str, Any]], bool],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    @_guard.safely
    def can_return(tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        is_set = "non_blocking" in kwargs or any(type(one) is bool for one in args)
        with untracked():
            return not is_set and is_copy(args, kwargs) and tensor.is_cpu and tensor.is_pinned()

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def copy(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_dynamo_compiling() and type(self) in PLAIN and can_return(self, args, kwargs):
                kwargs["non_blocking"] = True
            return original(self, *args, **kwargs)

        return copy

    return make


def _is_to_device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return is_device(args[0] if args else kwargs.get("device", kwargs.get("other")))


def _is_cuda(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return True
