"""Loader: passes over torch's DataLoader, in the training process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import dataloader

from .. import _guard, _native
from .._native import REQUEST_INTERRUPTS, REQUEST_TIMED, end_wait, request, take_batch
from .._passes import begin_pass, exhaust_pass, keep, owned
from .._training import here
from .loading import time_next_batch
from .other_loaders import note_pass
from .padding import look_at_padding
from .sizes import find_samples

_is_grad_enabled = torch.is_grad_enabled
# Modes that see every look at a tensor.
_modes = torch._C._len_torch_function_stack

# Iterators whose insides are known; a subclass may have others.
_ITERATORS = (dataloader._SingleProcessDataLoaderIter, dataloader._MultiProcessingDataLoaderIter)


def attach() -> None:
    """Hooks passes over a loader."""
    floats = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
    _native.register_torch(_is_grad_enabled, _modes, torch.Tensor, floats)
    _guard.replace(dataloader.DataLoader, "__iter__", _make_iter)
    _guard.replace(dataloader._BaseDataLoaderIter, "__next__", _make_next)
    _guard.replace(dataloader._BaseDataLoaderIter, "_reset", _make_reset)


def _make_iter(original: Callable[..., Any]) -> Callable[..., Any]:
    def __iter__(self: Any) -> Any:
        if owned.depth:
            # The pass belongs to the `fit` of a framework that computes with torch.
            return original(self)
        # Starting workers is part of the wait for the first batch.
        ticket = begin_pass(self)
        note_pass(self)
        try:
            iterator = original(self)
        except BaseException as error:
            if ticket is not None:
                end_wait()
            _guard.hide_frame(error)
            raise
        if ticket is not None:
            end_wait()
        keep(iterator, ticket)
        _count_orders(iterator, here.training.newest_pass)
        return iterator

    return __iter__


def _make_next(original: Callable[..., Any]) -> Callable[..., Any]:
    def __next__(self: Any) -> Any:
        wanted = request(self)
        if wanted:
            _look_closer(self, wanted)
        try:
            batch = original(self)
        except BaseException as error:
            end_wait()
            if isinstance(error, StopIteration):
                exhaust_pass(getattr(self, "_laptime_ticket", None))
            _guard.hide_frame(error)
            raise
        if take_batch(self, batch):
            _native.count_samples(self, find_samples(batch) or 0)
        if wanted and wanted == REQUEST_TIMED:
            look_at_padding(batch)
        return batch

    return __next__


def _make_reset(original: Callable[..., Any]) -> Callable[..., Any]:
    def _reset(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        # Workers get requests for batches ahead of time, from here on.
        _count_orders(self, here.training.newest_pass)
        return result

    return _reset


@_guard.safely
def _count_orders(iterator: Any, pass_id: int) -> None:
    """Each batch of a map-style dataset has as many samples as were ordered, whatever it looks like."""
    if type(iterator) in _ITERATORS and iterator._dataset_kind == dataloader._DatasetKind.Map:
        indices = iterator._sampler_iter
        if iterator._auto_collation and not isinstance(indices, _native.IndexIterator):
            iterator._sampler_iter = _native.IndexIterator(indices, pass_id)


@_guard.safely
def _look_closer(iterator: Any, wanted: int) -> None:
    """A request is more than the next one of the pass that trains."""
    if wanted == REQUEST_INTERRUPTS:
        if not _is_grad_enabled() or here.training.in_eval_mode():
            _native.interrupt_step()
    elif wanted == REQUEST_TIMED and type(iterator) is dataloader._SingleProcessDataLoaderIter:
        time_next_batch(iterator._dataset_fetcher)
