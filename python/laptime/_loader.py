"""Loader: hooks on torch's DataLoader, in the training process and inside its workers."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import _utils, dataloader

from . import _guard, _native
from ._training import DATA_WAIT, Pass, Ticket, Training, here

_enter = _native.enter
_exit = _native.exit
_is_grad_enabled = torch.is_grad_enabled
_Tensor = torch.Tensor
_unseen = torch._C.DisableTorchFunction

# Depth to look for a tensor in a batch: dictionaries of tuples are about as deep as they get.
_DEEPEST = 4


def attach() -> None:
    """Hooks the loader; each hook alone, so that one that fails costs only its own numbers."""
    _guard.attach("DataLoader", _attach_iteration)
    _guard.attach("DataLoader workers", _attach_workers)


def _attach_iteration() -> None:
    _guard.replace(dataloader.DataLoader, "__iter__", _make_iter)
    _guard.replace(dataloader._BaseDataLoaderIter, "__next__", _make_next)
    _guard.replace(dataloader._BaseDataLoaderIter, "_next_index", _make_next_index)


def _make_iter(original: Callable[..., Any]) -> Callable[..., Any]:
    def __iter__(self: Any) -> Any:
        # Starting workers is part of the wait for the first batch.
        training = here.training
        begun = _begin_pass(training, self)
        training.inside += 1
        try:
            _enter(DATA_WAIT)
            iterator = original(self)
        finally:
            _exit(DATA_WAIT)
            training.inside -= 1
        _keep(iterator, begun)
        return iterator

    return __iter__


def _make_next(original: Callable[..., Any]) -> Callable[..., Any]:
    def __next__(self: Any) -> Any:
        training = here.training
        ticket = self.__dict__.get("_laptime_ticket")
        asked = ticket.of if ticket is not None else None
        if asked is not None:
            _ask(training, asked)
        training.inside += 1
        try:
            _enter(DATA_WAIT)
            batch = original(self)
        except StopIteration:
            _exit(DATA_WAIT)
            training.inside -= 1
            if asked is not None:
                _end_pass(training, asked)
            raise
        except BaseException:
            _exit(DATA_WAIT)
            training.inside -= 1
            raise
        _exit(DATA_WAIT)
        training.inside -= 1
        if asked is not None:
            _take_batch(training, asked, batch)
        return batch

    return __next__


def _make_next_index(original: Callable[..., Any]) -> Callable[..., Any]:
    def _next_index(self: Any) -> Any:
        index = original(self)
        if type(index) is list and self._dataset_kind == dataloader._DatasetKind.Map:
            _note_size(self, len(index))
        return index

    return _next_index


@_guard.safely
def _begin_pass(training: Any, loader: Any) -> Pass:
    return training.begin_pass(loader)


@_guard.safely
def _keep(iterator: Any, begun: Pass | None) -> None:
    if begun is not None:
        # Batches asked for while the workers were started wait in the list that was there then.
        early = iterator.__dict__.pop("_laptime_sizes", None)
        if early:
            begun.sizes = early
        iterator._laptime_ticket = Ticket(begun)


@_guard.safely
def _note_size(iterator: Any, size: int) -> None:
    ticket = iterator.__dict__.get("_laptime_ticket")
    if ticket is not None and ticket.of.open:
        ticket.of.sizes.append(size)
    else:
        iterator.__dict__.setdefault("_laptime_sizes", []).append(size)


@_guard.safely
def _ask(training: Any, asked: Pass) -> None:
    training.ask(asked, _is_grad_enabled())


@_guard.safely
def _take_batch(training: Any, taken: Pass, batch: Any) -> None:
    sizes = taken.sizes
    training.take_batch(taken, sizes.pop(0) if sizes else samples_of(batch))


@_guard.safely
def _end_pass(training: Any, ended: Pass) -> None:
    training.end_pass(ended)


def samples_of(batch: Any) -> int:
    """Samples in a batch: the first dimension of its first tensor; 0 when there is none."""
    # A look at a tensor's shape is seen by the user's tensor subclasses and modes, unless it is hidden.
    with _unseen():
        return _first_dimension(batch, 0)


def _first_dimension(batch: Any, depth: int) -> int:
    if isinstance(batch, _Tensor):
        return batch.shape[0] if batch.dim() else 1
    if depth == _DEEPEST:
        return 0
    if isinstance(batch, dict):
        batch = tuple(batch.values())
    if isinstance(batch, (tuple, list)):
        for part in batch:
            found = _first_dimension(part, depth + 1)
            if found:
                return found
    return 0


def count_parameters(optimizer: Any) -> int:
    """Numbers an optimizer changes."""
    with _unseen():
        groups = optimizer.param_groups
        return sum(one.numel() for group in groups for one in group["params"])


# Inside workers.


def _attach_workers() -> None:
    _guard.replace(_utils.worker, "_worker_loop", _make_worker_loop)


def _make_worker_loop(original: Callable[..., Any]) -> Callable[..., Any]:
    def _worker_loop(*args: Any, **kwargs: Any) -> Any:
        _start_worker()
        try:
            return original(*args, **kwargs)
        finally:
            # A forked child skips `atexit`.
            _finish_worker()

    return _worker_loop


@_guard.safely
def _start_worker() -> None:
    """Times what this worker does; a child that records has a log of its own in the run."""
    # What the parent was doing when it forked is not ours.
    here.training = Training()
    # A transform that is a module is the only module a worker calls.
    here.training.worker_stage = _native.stage_id("transform")
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
    fetcher.fetch = _timed(fetcher.fetch, _native.stage_id("fetch"))
    fetcher.collate_fn = _timed(fetcher.collate_fn, _native.stage_id("collate"))
    dataset = fetcher.dataset
    for _ in range(_DEEPEST):
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
        try:
            _enter(stage)
            return function(*args, **kwargs)
        finally:
            _exit(stage)

    return timed
