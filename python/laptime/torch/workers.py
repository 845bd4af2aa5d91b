"""Workers: what a loader's processes do: fetch, transform and collate."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import _utils, dataloader

from .. import _guard, _native
from .._training import Training, here
from .loading import time_some_batches
from .sizes import DEEPEST


def attach() -> None:
    """Hooks the workers of a loader."""
    _guard.replace(_utils.worker, "_worker_loop", _make_worker_loop)


def _make_worker_loop(original: Callable[..., Any]) -> Callable[..., Any]:
    at = list(inspect.signature(original).parameters).index("worker_id")

    def _worker_loop(*args: Any, **kwargs: Any) -> Any:
        _start_worker(kwargs.get("worker_id", args[at] if at < len(args) else None))
        try:
            return original(*args, **kwargs)
        finally:
            # A forked child skips `atexit`.
            _finish_worker()

    return _worker_loop


@_guard.safely
def _start_worker(number: int | None) -> None:
    """Times what this worker does; a child that records has a log of its own in the run."""
    if number is not None:
        _native.be_worker(number)
    # What the parent was doing when it forked is not ours.
    here.training = Training()
    # A transform that is a module is the only module a worker calls.
    _native.training_in_worker(_native.stage_id("transform"))
    create = dataloader._DatasetKind.create_fetcher
    dataloader._DatasetKind.create_fetcher = staticmethod(_timed_create(create))


@_guard.safely
def _finish_worker() -> None:
    _native.finish("finished", None)


def _timed_create(create: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(create)
    def create_fetcher(*args: Any, **kwargs: Any) -> Any:
        fetcher = create(*args, **kwargs)
        _time_fetcher(fetcher)
        return fetcher

    return create_fetcher


@_guard.safely
def _time_fetcher(fetcher: Any) -> None:
    time_some_batches(fetcher)
    fetcher.fetch = _timed(fetcher.fetch, _native.stage_id("fetch"))
    fetcher.collate_fn = _timed(fetcher.collate_fn, _native.stage_id("collate"))
    dataset = fetcher.dataset
    for _ in range(DEEPEST):
        _time_transform(dataset, _native.stage_id("transform"))
        dataset = getattr(dataset, "dataset", None)
        if dataset is None:
            break


def _time_transform(dataset: Any, stage: int) -> None:
    """Times `dataset.transform`, without changing what it is: a function, or an object of its class."""
    transform = getattr(dataset, "transform", None)
    if isinstance(transform, types.FunctionType):
        dataset.transform = functools.wraps(transform)(_timed(transform, stage))
    elif callable(transform) and not isinstance(transform, torch.nn.Module):
        kind = type(transform)
        call = kind.__dict__.get("__call__")
        if isinstance(call, types.FunctionType) and not hasattr(call, "_laptime"):
            _guard.replace(kind, "__call__", lambda original: _timed(original, stage))


def _timed(function: Callable[..., Any], stage: int) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        _native.enter(stage)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            _native.exit(stage)
            _guard.hide_frame(error)
            raise
        _native.exit(stage)
        return result

    return timed
