"""Flax NNX: its own jitted functions, which carry a model and an optimizer in and out of JAX's."""

from __future__ import annotations

from typing import Any

from .. import _guard
from .._around import around
from .._native import is_inside
from .._passes import owned
from .functions import Call, begin_call, end_call


def attach() -> None:
    """Attaches the hook once; the run says if it cannot."""
    _guard.attach_once("nnx", ("nnx.jit", _attach_functions))


def _attach_functions() -> None:
    from flax.nnx.transforms import compilation

    kinds = [value for name, value in vars(compilation).items() if name.endswith("JitWrapped")]
    if not kinds:
        raise TypeError("this Flax jits in another way")
    for kind in kinds:
        _guard.replace(kind, "__call__", around(_begin_call, end_call))


def _begin_call(args: Any, kwargs: Any) -> tuple[Call, bool] | None:
    if owned.depth or is_inside():
        return None
    call = args[0].__dict__.get("_laptime_call") or _new_call(args[0])
    return begin_call(call, args[1:]) if call is not None else None


@_guard.safely
def _new_call(function: Any) -> Call:
    call = function.__dict__["_laptime_call"] = Call(str(function.__name__))
    return call
