"""Modules: the outermost call of a model or a loss, and eval mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.compiler import is_dynamo_compiling

from .. import _guard
from .._native import (
    CALL_NEW_MODEL,
    CALL_NEW_MODULE,
    CALL_WANTS_SAMPLES,
    MODULE_LOSS,
    MODULE_MODEL,
    MODULE_SILENT,
    begin_call,
    begin_zero,
    end_call,
    end_zero,
)
from .._training import here
from .around import around
from .computing import note_model
from .disguise import disguise
from .dynamo import show_dynamo
from .sizes import record_sizes

_is_tracing = torch._C._is_tracing

# What times the layers of a model on some of its calls; `None` unless that is asked for.
watch: Any = None


def _begin_module_zero() -> None:
    begin_zero(None)


def attach() -> None:
    """Hooks calls of modules, and what puts them into eval mode."""
    original = nn.Module.__call__
    _guard.replace(nn.Module, "__call__", _make_module_call)
    show_dynamo(original, nn.Module.__call__)
    _guard.replace(nn.Module, "eval", _make_eval)
    _guard.replace(nn.Module, "zero_grad", around(_begin_module_zero, end_zero))


def _make_module_call(original: Callable[..., Any]) -> Callable[..., Any]:
    def _wrapped_call_impl(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(self, *args, **kwargs)
        begun = begin_call(self)
        # What the original does, without its frame: a model has many modules.
        if begun is None or (begun is not True and not _look_closer(begun, self, args or kwargs)):
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return self._call_impl(*args, **kwargs)
        sampled = watch is not None and watch.begin(self)
        try:
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return self._call_impl(*args, **kwargs)
        finally:
            end_call()
            if sampled:
                watch.end()

    if original is not nn.Module._wrapped_call_impl or not hasattr(
        nn.Module, "_compiled_call_impl"
    ):
        raise TypeError("this torch calls modules in another way")
    # What runs in the original's place reads in a traceback as the original does.
    disguise(_wrapped_call_impl, original, ("_compiled_call_impl", "_call_impl"))
    return _wrapped_call_impl


def _look_closer(wanted: int, module: Any, inputs: Any) -> bool:
    """Gives the recorder what it wants to know of a call; says whether the call has begun as a stage."""
    begun: Any = wanted
    try:
        tracing = _is_tracing()
        if begun == CALL_NEW_MODULE and not tracing:
            here.training.register_module(module, _kind_of(module))
            begun = begin_call(module)
        if begun == CALL_NEW_MODEL and not tracing:
            here.training.register_model(module, _name_of(module))
            note_model(module, inputs)
            begun = begin_call(module)
        # While a call is traced, a look at a shape would be part of what is traced.
        if begun == CALL_WANTS_SAMPLES and not tracing:
            record_sizes(inputs)
    except Exception as error:
        _guard.broken("Module.__call__", error)
    return begun is True or begun == CALL_WANTS_SAMPLES


def _name_of(module: Any) -> str:
    """The model's class; compiled and data-parallel ones are wrapped."""
    return type(getattr(module, "_orig_mod", getattr(module, "module", module))).__name__


def _kind_of(module: Any) -> int:
    if isinstance(module, torch.fx.GraphModule) and next(module.parameters(), None) is None:
        # Code that a compiled function runs: it has its weights as inputs.
        return MODULE_SILENT
    is_loss = isinstance(module, nn.modules.loss._Loss) or "loss" in type(module).__name__.lower()
    return MODULE_LOSS if is_loss else MODULE_MODEL


def _make_eval(original: Callable[..., Any]) -> Callable[..., Any]:
    def eval(self: Any) -> Any:
        if not is_dynamo_compiling():
            _record_eval_mode(self)
        return original(self)

    return eval


@_guard.safely
def _record_eval_mode(module: Any) -> None:
    here.training.record_eval_mode(module)
