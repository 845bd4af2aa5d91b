"""Loader: hooks on torch's DataLoader, in the training process and inside its workers."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import _utils, dataloader

from . import _guard, _native
from ._native import ask, end_wait, take_batch
from ._passes import begin_pass, exhaust_pass, keep
from ._training import Training, here
from .keras import here as keras

_is_grad_enabled = torch.is_grad_enabled
_Tensor = torch.Tensor
_unseen = torch._C.DisableTorchFunction
# Modes that see every look at a tensor.
_modes = torch._C._len_torch_function_stack

# Depth to look for a tensor in a batch: dictionaries of tuples are about as deep as they get.
_DEEPEST = 4

# Iterators whose insides are known; a subclass may have others.
_ITERATORS = (dataloader._SingleProcessDataLoaderIter, dataloader._MultiProcessingDataLoaderIter)


def attach() -> None:
    """Hooks the loader; each hook alone, so that one that fails costs only its own numbers."""
    _native.know_torch(_is_grad_enabled, _modes, _Tensor, torch.float32, torch.float64)
    _guard.attach("DataLoader", _attach_iteration)
    _guard.attach("DataLoader workers", _attach_workers)


def _attach_iteration() -> None:
    _guard.replace(dataloader.DataLoader, "__iter__", _make_iter)
    _guard.replace(dataloader._BaseDataLoaderIter, "__next__", _make_next)
    _guard.replace(dataloader._BaseDataLoaderIter, "_reset", _make_reset)


def _make_iter(original: Callable[..., Any]) -> Callable[..., Any]:
    def __iter__(self: Any) -> Any:
        if keras.depth:
            # Keras on torch: the pass belongs to its `fit`.
            return original(self)
        # Starting workers is part of the wait for the first batch.
        ticket = begin_pass(self)
        try:
            iterator = original(self)
        except BaseException as error:
            if ticket is not None:
                end_wait()
            _guard.unseen(error)
            raise
        if ticket is not None:
            end_wait()
        keep(iterator, ticket)
        _count_orders(iterator, here.training.newest_pass)
        return iterator

    return __iter__


def _make_next(original: Callable[..., Any]) -> Callable[..., Any]:
    def __next__(self: Any) -> Any:
        if ask(self):
            _interrupt_step()
        try:
            batch = original(self)
        except BaseException as error:
            end_wait()
            if isinstance(error, StopIteration):
                exhaust_pass(getattr(self, "_laptime_ticket", None))
            _guard.unseen(error)
            raise
        if take_batch(self, batch):
            _native.count_samples(self, _find_samples(batch) or 0)
        return batch

    return __next__


def _make_reset(original: Callable[..., Any]) -> Callable[..., Any]:
    def _reset(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        # Workers are asked for batches ahead of time, from here on.
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
def _interrupt_step() -> None:
    if not _is_grad_enabled() or here.training.in_eval_mode():
        _native.interrupt_step()


def note_sizes(inputs: Any) -> None:
    """Notes the samples or the tokens in the input of a model, where no loader says how many there are."""
    # A look at a tensor's shape is seen by the user's tensor subclasses and modes, unless it is hidden.
    with _unseen():
        first = _first_tensor(inputs, 0)
        if first is None:
            return
        dimensions = first.dim()
        if not dimensions:
            _native.take_samples(1)
        elif dimensions == 2 and not first.is_floating_point():
            # Numbers of tokens: sequences may stand in rows or in columns, so only their product is sure.
            _native.take_tokens(first.numel())
        elif dimensions != 3:
            # Of three dimensions the first may be that of time.
            samples = first.shape[0]
            # While shapes are traced they are no numbers.
            _native.take_samples(samples if type(samples) is int else 0)


def _first_tensor(batch: Any, depth: int) -> Any:
    if isinstance(batch, _Tensor):
        return batch
    if depth == _DEEPEST:
        return None
    if isinstance(batch, dict):
        batch = tuple(batch.values())
    if isinstance(batch, (tuple, list)):
        return next(
            (found for part in batch if (found := _first_tensor(part, depth + 1)) is not None), None
        )
    return None


@_guard.safely
def _find_samples(batch: Any) -> int:
    # A look at a tensor's shape is seen by the user's tensor subclasses and modes, unless it is hidden.
    with _unseen():
        first = _first_tensor(batch, 0)
        found = 0 if first is None else first.shape[0] if first.dim() else 1
    # While shapes are traced they are no numbers.
    return found if type(found) is int else 0


def model_facts(model: Any) -> dict[str, Any]:
    """What a model says of a fit whose script updates it itself."""
    with _unseen():
        return _facts_of(list(model.parameters()))


def _facts_of(parameters: list[Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {"framework": "torch", "framework_version": torch.__version__}
    if parameters:
        facts["device"] = str(parameters[0].device)
        facts["parameters"] = sum(one.numel() for one in parameters)
    return facts


def optimizer_facts(optimizer: Any) -> dict[str, Any]:
    """What an optimizer says of a fit."""
    with _unseen():
        groups = optimizer.param_groups
        facts = _facts_of([one for group in groups for one in group["params"]])
    facts["optimizer"] = type(optimizer).__name__
    rate = optimizer.param_groups[0].get("lr")
    if isinstance(rate, float):
        facts["lr"] = f"{rate:g}"
    return facts


def loader_facts(loader: Any) -> dict[str, Any]:
    """What a loader tells of a fit; asks nothing that changes it."""
    facts: dict[str, Any] = {"num_workers": loader.num_workers}
    try:
        facts["rows"] = len(loader.dataset)
        # `len(loader)` of an iterable dataset makes the loader count and warn.
        if not hasattr(loader.dataset, "__iter__") or hasattr(loader.dataset, "__getitem__"):
            facts["steps_per_epoch"] = len(loader)
    except Exception:  # A length is the user's code, and not every dataset has one.
        pass
    batch = loader.batch_size or getattr(loader.batch_sampler, "batch_size", None)
    if isinstance(batch, int):
        facts["batch"] = batch
    return facts


# Inside workers.


def _attach_workers() -> None:
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
        _native.enter(stage)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            _native.exit(stage)
            _guard.unseen(error)
            raise
        _native.exit(stage)
        return result

    return timed
