"""Workers: where those that a loader was given fail, the script goes on without, as if it had never had them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import dataloader

from ... import _changes, _guard
from .randomness import Randomness

NAMES = ("num_workers", "prefetch_factor", "persistent_workers")
# The arguments of a loader that have to do with its workers.
ARGUMENTS = (*NAMES, "timeout", "multiprocessing_context")

# A changed loader has those of its script under this name.
GIVEN = "_laptime_given"
_changed: list[weakref.ref[Any]] = []


def attach() -> None:
    """Watches the workers of changed loaders."""
    _changes.wrap(dataloader.DataLoader, "_get_iterator", _make_get_iterator)
    workers = dataloader._MultiProcessingDataLoaderIter
    _changes.wrap(workers, "_next_data", _make_next_data)
    _changes.wrap(workers, "_reset", _make_reset)


def watch(loader: Any) -> None:
    """A loader was changed."""
    _changed[:] = [one for one in _changed if one() is not None]
    _changed.append(weakref.ref(loader))


def _make_get_iterator(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def _get_iterator(self: Any) -> Any:
        given = self.__dict__.get(GIVEN)
        if given is None:
            return original(self)
        began = Randomness(self.generator)
        try:
            if given["persistent_workers"] and not self.persistent_workers:
                iterator = _without_seed(self, original)
            else:
                iterator = original(self)
        except Exception as error:
            _go_back(error)
            began.restore()
            return original(self)
        # Weakly: a loader with persistent workers holds its iterator.
        iterator._laptime_began = (weakref.ref(self), began)
        return iterator

    return _get_iterator


def _without_seed(loader: Any, original: Callable[[Any], Any]) -> Any:
    """An iterator for each epoch, where the script had one that drew the seed of its workers once."""
    if not loader.__dict__.get("_laptime_seeded"):
        loader.__dict__["_laptime_seeded"] = True
        return original(loader)
    # The sampler has the generator too, and draws from it as it did.
    generator, loader.generator = loader.generator, torch.Generator()
    try:
        return original(loader)
    finally:
        loader.generator = generator


def _make_next_data(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def _next_data(self: Any) -> Any:
        instead = self.__dict__.get("_laptime_instead")
        if instead is not None:
            return instead._next_data()
        try:
            return original(self)
        except StopIteration:
            raise
        except Exception as error:
            instead = _without_workers(self, error)
            if instead is None:
                raise
        self._laptime_instead = instead
        return instead._next_data()

    return _next_data


@_guard.safely
def _without_workers(iterator: Any, error: Exception) -> Any:
    """An iterator in this process that goes on where one with workers failed; `None` if the script has workers."""
    found, began = iterator.__dict__.get("_laptime_began", (None, None))
    loader = found() if found is not None else None
    if loader is None or loader.__dict__.get(GIVEN, {}).get("num_workers") != 0:
        return None
    iterator._shutdown_workers()
    _go_back(error)
    # The sampler begins again, as it did, and is brought to where it was.
    now = Randomness(loader.generator)
    began.restore()
    instead = dataloader._SingleProcessDataLoaderIter(loader)
    for _ in range(iterator._num_yielded):
        instead._next_index()
    if iterator._num_yielded:
        now.restore()
    loader._iterator = None
    return instead


def _go_back(error: Exception) -> None:
    """Gives all loaders the workers that the script gave them."""
    for name in NAMES:
        _changes.withdrawn(name, f"a worker failed: {_changes.because_of(error)}")
    for loader in filter(None, (one() for one in _changed)):
        given = loader.__dict__.pop(GIVEN, None)
        if given is not None:
            loader.multiprocessing_context = None
            context = given.pop("multiprocessing_context")
            # Not by assignment, which the loader refuses once it is made.
            loader.__dict__.update(given)
            loader.multiprocessing_context = context


def _make_reset(original: Callable[..., Any]) -> Callable[..., Any]:
    def _reset(self: Any, loader: Any, first_iter: bool = False) -> Any:
        if not first_iter:
            _draw_seed(loader)
        return original(self, loader, first_iter)

    return _reset


@_guard.safely
def _draw_seed(loader: Any) -> None:
    """Persistent workers draw their seed once, others in every epoch: the numbers after it must stay the same."""
    given = loader.__dict__.get(GIVEN)
    if given is not None and not given["persistent_workers"]:
        torch.empty((), dtype=torch.int64).random_(generator=loader.generator)
