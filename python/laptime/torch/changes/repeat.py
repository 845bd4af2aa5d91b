"""Repeat: a loader that gives its first batch again and again, as if data were free."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import dataloader

from ... import _changes, _guard
from ..._training import here
from ..sizes import DEEPEST

_ITERABLE = "the loader is iterable, and the number of its batches is not known"
# A loader has its first batch under this name.
_FIRST = "_laptime_first"


def attach() -> None:
    """Changes the passes over a loader that train."""
    if _changes.is_on("repeat_batch"):
        _changes.wrap(dataloader.DataLoader, "__iter__", _make_iter)


def _make_iter(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def __iter__(self: Any) -> Any:
        if not _can_repeat(self):
            return original(self)
        # Workers would go on loading what nobody waits for.
        workers, self.num_workers = self.num_workers, 0
        timeout, self.timeout = self.timeout, 0
        try:
            iterator = original(self)
        finally:
            self.num_workers, self.timeout = workers, timeout
        _repeat(self, iterator)
        return iterator

    return __iter__


@_guard.safely
def _can_repeat(loader: Any) -> bool:
    if not torch.is_grad_enabled() or here.training.in_eval_mode():
        return False
    if loader._dataset_kind != dataloader._DatasetKind.Map:
        _changes.refused("repeat_batch", _ITERABLE)
        return False
    return True


@_guard.safely
def _repeat(loader: Any, iterator: Any) -> None:
    if type(iterator) is not dataloader._SingleProcessDataLoaderIter:
        return _changes.refused("repeat_batch", "the loader has an iterator of its own")
    fetch = iterator._next_data

    def next_data() -> Any:
        first = loader.__dict__.get(_FIRST)
        if first is None:
            first = loader.__dict__[_FIRST] = _First(fetch())
        else:
            # The sampler goes on as it does, and says when the epoch ends.
            iterator._next_index()
        return first.give()

    iterator._next_data = next_data
    _changes.applied("repeat_batch", 0, 1)


class _First:
    """The first batch of a loader, to be given out again and again; what the script does to it is undone."""

    __slots__ = ("_batch", "_kept")

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        # The tensors of the batch, as they were, and how often each was written to.
        self._kept = [(one, one.clone(), one._version) for one in _tensors(batch, 0)]

    def give(self) -> Any:
        """The batch, in containers of its own."""
        for at, (tensor, kept, version) in enumerate(self._kept):
            if tensor._version != version:
                tensor.copy_(kept)
                self._kept[at] = (tensor, kept, tensor._version)
        return _again(self._batch, 0)


def _is_plain(value: Any) -> bool:
    return type(value) is torch.Tensor and not value.requires_grad


def _tensors(batch: Any, depth: int) -> list[Any]:
    if _is_plain(batch):
        return [batch]
    parts = batch.values() if type(batch) is dict else batch
    if depth == DEEPEST or not isinstance(batch, (dict, list, tuple)):
        return []
    return [one for part in parts for one in _tensors(part, depth + 1)]


def _again(batch: Any, depth: int) -> Any:
    """The same tensors in new containers, so that whoever takes something out of one leaves it in ours."""
    if _is_plain(batch):
        # Shares its memory and counts its writes, but is a tensor of its own.
        return batch.detach()
    if depth == DEEPEST:
        return batch
    if type(batch) is dict:
        return {name: _again(part, depth + 1) for name, part in batch.items()}
    if type(batch) in (list, tuple):
        return type(batch)(_again(part, depth + 1) for part in batch)
    return batch
