"""Gradients: backward passes, and scripts that use the gradients themselves."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling

from .. import _guard
from .._native import begin_backward, end_backward
from .._training import here
from .around import around


def attach() -> None:
    """Hooks backward passes."""
    # `Tensor.backward` calls this one, so that it is enough.
    _guard.replace(torch.autograd, "backward", _make_backward)


def _make_backward(original: Callable[..., Any]) -> Callable[..., Any]:
    # Named arguments: packing and unpacking them takes longer than all the rest.
    def backward(
        tensors: Any,
        grad_tensors: Any = None,
        retain_graph: Any = None,
        create_graph: Any = False,
        grad_variables: Any = None,
        inputs: Any = None,
    ) -> Any:
        if is_dynamo_compiling():
            return original(
                tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs
            )
        begin_backward(tensors)
        try:
            original(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
        except BaseException as error:
            end_backward()
            _guard.hide_frame(error)
            raise
        if end_backward():
            _settle_own_step(sys._getframe().f_back)

    if _defaults(backward) == _defaults(original):
        return backward
    return around(_begin_unknown_backward, end_backward)(original)


def _begin_unknown_backward() -> None:
    begin_backward(None)


@_guard.safely
def _settle_own_step(frame: FrameType | None) -> None:
    here.training.settle_own_step(frame, "torch")


def _defaults(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.default) for parameter in parameters]
