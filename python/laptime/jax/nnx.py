"""Flax NNX: its own jitted functions, which carry a model and an optimizer in and out of JAX's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .. import _guard
from .._native import is_inside
from .._passes import owned
from .functions import Call, begin_call, end_jitted

_attached = False


def attach() -> None:
    """Attaches the hook once; the run says if it cannot."""
    global _attached
    if not _attached:
        _attached = True
        _guard.attach("nnx.jit", _attach_functions)


def _attach_functions() -> None:
    from flax.nnx.transforms import compilation

    kinds = [value for name, value in vars(compilation).items() if name.endswith("JitWrapped")]
    if not kinds:
        raise TypeError("this Flax jits in another way")
    for kind in kinds:
        _guard.replace(kind, "__call__", _make_call)


def _make_call(original: Callable[..., Any]) -> Callable[..., Any]:
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = None
        if not owned.depth and not is_inside():
            call = self.__dict__.get("_laptime_call") or _see_function(self)
        if call is None:
            return original(self, *args, **kwargs)
        evaluates = call.evaluates
        begin_call(call, sys._getframe().f_back, args)
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            end_jitted(call, evaluates)

    return __call__


@_guard.safely
def _see_function(function: Any) -> Call:
    call = function.__dict__["_laptime_call"] = Call(str(function.__name__))
    return call
