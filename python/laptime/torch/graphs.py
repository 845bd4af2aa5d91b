"""Graphs: steps that a script captured once as a CUDA graph, and replays."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

import torch

from .. import _guard, _native
from .._native import UPDATE_UNSETTLED, begin_compiled_update, end_compiled_update, is_inside
from .._training import here
from .device import when_used

_STAGE = _native.stage_id("cuda_graph")

# Optimizers whose updates are in the graph that is being captured; `None` while there is none.
captured: list[Any] | None = None

# The optimizer of every graph that has an update.
_optimizers: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class Step(NamedTuple):
    """A step that is replayed: its optimizer, unless the script has let go of it."""

    optimizer: Any


def attach() -> None:
    """Graphs are watched from the moment there is a device."""
    when_used(_watch_graphs)


@_guard.safely
def _watch_graphs() -> None:
    graph = torch.cuda.CUDAGraph
    _guard.replace(graph, "capture_begin", _make_capture_begin)
    _guard.replace(graph, "capture_end", _make_capture_end)
    _guard.replace(graph, "replay", _make_replay)


def _make_capture_begin(original: Callable[..., Any]) -> Callable[..., Any]:
    def capture_begin(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        _begin_capture()
        return result

    return capture_begin


def _make_capture_end(original: Callable[..., Any]) -> Callable[..., Any]:
    def capture_end(self: Any) -> Any:
        _end_capture(self)
        try:
            return original(self)
        except BaseException as error:
            _guard.hide_frame(error)
            raise

    return capture_end


@_guard.safely
def _begin_capture() -> None:
    global captured
    captured = []
    _native.begin_capture()


@_guard.safely
def _end_capture(graph: Any) -> None:
    global captured
    _native.end_capture()
    updates, captured = captured, None
    if updates:
        _optimizers[graph] = weakref.ref(updates[0])


def _make_replay(original: Callable[..., Any]) -> Callable[..., Any]:
    def replay(self: Any) -> Any:
        step = None if is_inside() else _begin_replay(self, sys._getframe().f_back)
        if step is None:
            return original(self)
        try:
            return original(self)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        finally:
            _end_replay(step)

    return replay


@_guard.safely
def _begin_replay(graph: Any, frame: FrameType | None) -> Step | None:
    """A graph that updates a model is a step; any other is none."""
    known = _optimizers.get(graph)
    if known is None:
        return None
    step = Step(known())
    _native.begin_function(_STAGE, True)
    if begin_compiled_update(step.optimizer) == UPDATE_UNSETTLED:
        here.training.framework = "torch"
        here.training.settle_update(step.optimizer, frame)
    return step


@_guard.safely
def _end_replay(step: Step) -> None:
    _native.end_function(_STAGE)
    end_compiled_update(step.optimizer)
