"""Loaders: other arguments for a `DataLoader`, and the way back where they do not work."""

from __future__ import annotations

import inspect
import multiprocessing
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import IterableDataset, SequentialSampler, _utils, dataloader

from ... import _changes, _guard
from . import workers

NAMES = (*workers.NAMES, "pin_memory", "batch_size")

_NO_WORKERS = "the loader has no workers"
_ON_GPU = "the dataset has tensors on the GPU"

# Arguments of a `DataLoader` by name, those left out by their default.
_Arguments = dict[str, Any]


def attach() -> None:
    """Changes loaders as they are made."""
    kind = dataloader.DataLoader
    _changes.wrap(kind, "__init__", _make_init)
    _changes.wrap(kind, "check_worker_number_rationality", _make_check)
    workers.attach()
    if _changes.switch("pin_memory"):
        _changes.wrap(_utils.pin_memory, "pin_memory", _make_pin)


def _make_init(original: Callable[..., None]) -> Callable[..., None]:
    signature = inspect.signature(original)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        found: tuple[_Arguments, _Arguments] | None
        found = _find_arguments(signature, (self, *args), kwargs)
        given, changed = found or ({}, {})
        if changed:
            self.__dict__[workers.GIVEN] = {name: given[name] for name in workers.ARGUMENTS}
            try:
                original(**(given | changed))
                return _record(self, given, changed)
            except Exception as error:
                del self.__dict__[workers.GIVEN]
                for name in changed:
                    _changes.refused(name, _changes.because_of(error))
        original(self, *args, **kwargs)

    return __init__


def _make_check(original: Callable[[Any], None]) -> Callable[[Any], None]:
    def check_worker_number_rationality(self: Any) -> None:
        # A warning that there are many workers would be about what the script did not ask for.
        if workers.GIVEN not in self.__dict__:
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
        ask = _changes.switch if name in ("persistent_workers", "pin_memory") else _changes.number
        # A loader that has no workers any more has lost more than was asked for.
        if name in changed and changed[name] == ask(name):
            _changes.applied(name, given[name], changed[name])
    workers.watch(loader)


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
    count, before = _changes.number("num_workers"), given["num_workers"]
    if count is None:
        return {}
    if isinstance(given["dataset"], IterableDataset):
        # Each worker has the whole of it, or a share that depends on how many there are.
        own = "has workers of its own" if before else "every worker would give all of it"
        _changes.refused("num_workers", f"the loader is iterable and {own}")
        return {}
    if count == before:
        _changes.refused("num_workers", "the loader has as many already")
        return {}
    if count == 0:
        # A loader without workers takes none of these.
        without = {"prefetch_factor": None, "persistent_workers": False, "timeout": 0}
        return {"num_workers": 0, "multiprocessing_context": None} | without
    if before == 0 and _is_on_device(given["dataset"]):
        _changes.refused("num_workers", _ON_GPU)
        return {}
    # A script that never had workers may not be ready to be imported by them.
    forks = before == 0 and "fork" in multiprocessing.get_all_start_methods()
    return {"num_workers": count} | ({"multiprocessing_context": "fork"} if forks else {})


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
    elif pins and _is_on_device(given["dataset"]):
        _changes.refused("pin_memory", _ON_GPU)
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


def _make_pin(original: Callable[..., Any]) -> Callable[..., Any]:
    def pin_memory(data: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(data, *args, **kwargs)
        except Exception as error:
            _changes.withdrawn("pin_memory", f"a batch cannot be: {_changes.because_of(error)}")
            return data

    return pin_memory
