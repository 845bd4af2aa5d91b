"""Collectives: exchange between ranks, by hooks of process groups or, in a torch without those, by the calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling

from .. import _guard, _native
from .._native import enter, exit
from . import process_groups
from .sizes import untracked

_COMMUNICATION = _native.stage_id("communication")

# Collectives that wait unless `async_op` is set; `_object` forms call these.
_COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "all_gather_into_tensor",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "send",
)


def attach() -> None:
    """Hooks the collectives of `torch.distributed`, where there is one."""
    _guard.replace(torch.nn.DataParallel, "__init__", _make_init)
    distributed = torch.distributed
    if not distributed.is_available():
        return
    if process_groups.have_hooks():
        process_groups.attach()
        return
    _native.collectives_not_seen(f"torch {torch.__version__} has no hooks for process groups")
    home = distributed.distributed_c10d
    for name in _COLLECTIVES:
        original = getattr(home, name, None)
        if original is None:
            continue
        _guard.replace(home, name, _make_collective)
        if getattr(distributed, name, None) is original:
            setattr(distributed, name, getattr(home, name))


def _make_collective(original: Callable[..., Any]) -> Callable[..., Any]:
    def collective(*args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling() or kwargs.get("async_op"):
            return original(*args, **kwargs)
        _count_bytes(args, kwargs)
        enter(_COMMUNICATION)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            exit(_COMMUNICATION)
            _guard.hide_frame(error)
            raise
        exit(_COMMUNICATION)
        return result

    return collective


@_guard.safely
def _count_bytes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for value in (*args, *kwargs.values()):
        if isinstance(value, torch.Tensor):
            with untracked():
                _native.count("between_ranks_bytes", value.nbytes)
            return


def _make_init(original: Callable[..., None]) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            original(self, *args, **kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        _note_devices(self)

    return __init__


@_guard.safely
def _note_devices(model: Any) -> None:
    """One process that trains on several devices copies between them inside each call."""
    if len(model.device_ids) > 1:
        _native.collectives_not_seen("DataParallel copies between its devices inside each call")
