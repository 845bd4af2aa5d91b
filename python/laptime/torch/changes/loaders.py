"""Loaders: other arguments for a `DataLoader`, and the way back where they do not work."""

from __future__ import annotations

import inspect
import multiprocessing
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import IterableDataset, SequentialSampler, dataloader

from ... import _changes, _guard
from .randomness import Randomness

_WORKERS = ("num_workers", "prefetch_factor", "persistent_workers")
_RESTORED = (*_WORKERS, "timeout", "multiprocessing_context")
NAMES = (*_WORKERS, "pin_memory", "batch_size")

_NO_WORKERS = "the loader has no workers"

# Arguments of a `DataLoader` by name, those left out by their default.
_Arguments = dict[str, Any]

# A changed loader has the arguments of its script under this name, for the way back.
_GIVEN = "_laptime_given"
_changed: list[weakref.ref[Any]] = []


def attach() -> None:
    """Changes loaders as they are made."""
    kind = dataloader.DataLoader
    _changes.wrap(kind, "__init__", _make_init)
    _changes.wrap(kind, "check_worker_number_rationality", _make_check)
    _changes.wrap(kind, "_get_iterator", _make_get_iterator)
    workers = dataloader._MultiProcessingDataLoaderIter
    _changes.wrap(workers, "_next_data", _make_next_data)
    _changes.wrap(workers, "_reset", _make_reset)


def _make_init(original: Callable[..., None]) -> Callable[..., None]:
    signature = inspect.signature(original)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given, changed = _find_arguments(signature, (self, *args), kwargs) or ({}, {})
        if changed:
            self.__dict__[_GIVEN] = {name: given[name] for name in _RESTORED}
            try:
                original(**(given | changed))
                return _record(self, given, changed)
            except Exception as error:
                del self.__dict__[_GIVEN]
                for name in changed:
                    _changes.refused(name, _changes.because_of(error))
        original(self, *args, **kwargs)

    return __init__


def _make_check(original: Callable[[Any], None]) -> Callable[[Any], None]:
    def check_worker_number_rationality(self: Any) -> None:
        # A warning that there are many workers would be about what the script did not ask for.
        if _GIVEN not in self.__dict__:
            original(self)

    return check_worker_number_rationality


@_guard.safely
def _find_arguments(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[_Arguments, _Arguments] | None:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        # Not for us to report.
        return None
    bound.apply_defaults()
    return bound.arguments, _change(bound.arguments)


@_guard.safely
def _record(loader: Any, given: _Arguments, changed: _Arguments) -> None:
    for name in NAMES:
        if name in changed and changed[name] != given[name]:
            _changes.applied(name, given[name], changed[name])
    _changed[:] = [one for one in _changed if one() is not None]
    _changed.append(weakref.ref(loader))


def _change(given: _Arguments) -> _Arguments:
    """The arguments as they are asked for, where the loader can have them."""
    changed: _Arguments = {}
    for change in (
        _change_workers,
        _change_prefetch,
        _change_persistent,
        _change_pin,
        _change_batch,
    ):
        changed |= change(given | changed)
    return changed


def _change_workers(given: _Arguments) -> _Arguments:
    workers, before = _changes.number("num_workers"), given["num_workers"]
    if workers is None:
        return {}
    if isinstance(given["dataset"], IterableDataset):
        # Each worker has the whole of it, or a share that depends on how many there are.
        own = "has workers of its own" if before else "every worker would give all of it"
        _changes.refused("num_workers", f"the loader is iterable and {own}")
        return {}
    if workers == before:
        _changes.refused("num_workers", "the loader has as many already")
        return {}
    if workers == 0:
        # A loader without workers takes none of these.
        without = {"prefetch_factor": None, "persistent_workers": False, "timeout": 0}
        return {"num_workers": 0, "multiprocessing_context": None} | without
    if before == 0 and _is_on_device(given["dataset"]):
        _changes.refused("num_workers", "the dataset has tensors on the GPU")
        return {}
    # A script that never had workers may not be ready to be imported by them.
    forks = before == 0 and "fork" in multiprocessing.get_all_start_methods()
    return {"num_workers": workers} | ({"multiprocessing_context": "fork"} if forks else {})


def _is_on_device(dataset: Any) -> bool:
    parts = getattr(dataset, "__dict__", {}).values()
    tensors = [
        one
        for part in parts
        for one in (part if isinstance(part, (tuple, list)) else (part,))[:8]
        if isinstance(one, torch.Tensor)
    ]
    return any(one.device.type != "cpu" for one in tensors)


def _change_prefetch(given: _Arguments) -> _Arguments:
    factor = _changes.number("prefetch_factor")
    if factor is None:
        return {}
    # Torch's own default.
    before = given["prefetch_factor"] or 2
    return _with_workers("prefetch_factor", before, factor, given)


def _change_persistent(given: _Arguments) -> _Arguments:
    keeps = _changes.switch("persistent_workers")
    if keeps is None:
        return {}
    return _with_workers("persistent_workers", given["persistent_workers"], keeps, given)


def _with_workers(name: str, before: Any, after: Any, given: _Arguments) -> _Arguments:
    if given["num_workers"] and before != after:
        return {name: after}
    _changes.refused(name, "the loader does so already" if given["num_workers"] else _NO_WORKERS)
    return {}


def _change_pin(given: _Arguments) -> _Arguments:
    pins = _changes.switch("pin_memory")
    if pins is None:
        return {}
    # Counted without the driver being used, which a forked worker could not use then.
    if not torch.cuda.device_count():
        _changes.refused("pin_memory", "no GPU")
    elif bool(given["pin_memory"]) == pins:
        _changes.refused("pin_memory", "the loader does so already")
    else:
        return {"pin_memory": pins}
    return {}


def _change_batch(given: _Arguments) -> _Arguments:
    size, before = _changes.number("batch_size"), given["batch_size"]
    if size is None:
        return {}
    if given["batch_sampler"] is not None or before is None:
        _changes.refused("batch_size", "the loader does not make its batches itself")
    elif not given["shuffle"] and isinstance(given["sampler"], SequentialSampler | None):
        _changes.refused(
            "batch_size", "the loader does not shuffle: it may be that of an evaluation"
        )
    elif size in (0, before):
        _changes.refused("batch_size", "the loader has it already" if size else "no batch is empty")
    else:
        return {"batch_size": size}
    return {}


# Workers that the script did not have may fail where the script itself does not.


def _make_get_iterator(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def _get_iterator(self: Any) -> Any:
        given = self.__dict__.get(_GIVEN)
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
    if loader is None or loader.__dict__.get(_GIVEN, {}).get("num_workers") != 0:
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
    for name in _WORKERS:
        _changes.withdrawn(name, f"a worker failed: {_changes.because_of(error)}")
    for loader in filter(None, (one() for one in _changed)):
        given = loader.__dict__.pop(_GIVEN, None)
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
    given = loader.__dict__.get(_GIVEN)
    if given is not None and not given["persistent_workers"]:
        torch.empty((), dtype=torch.int64).random_(generator=loader.generator)
