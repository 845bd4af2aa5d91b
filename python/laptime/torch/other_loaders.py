"""Other loaders: how long those are that a script has made but does not train with, such as that of its validation.

Before the first epoch has ended nothing else says what will follow it.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.utils.data import dataloader
from torch.utils.data.sampler import BatchSampler

from .. import _frameworks, _guard, _native
from .._training import here

# Loaders that are known: a script that makes a new one for every epoch must not fill memory.
_MOST_LOADERS = 64


class _Made:
    """A loader that was made, and whether a pass over it began that may train."""

    __slots__ = ("loader", "trains")

    def __init__(self, loader: Any) -> None:
        # Without a callback: at exit there is nothing left to call.
        self.loader = weakref.ref(loader)
        self.trains = False


class _Length(NamedTuple):
    """What a pass over a loader has."""

    batches: int
    rows: int


_made: deque[_Made] = deque(maxlen=_MOST_LOADERS)


def attach() -> None:
    """Hooks the making of a loader."""
    _guard.replace(dataloader.DataLoader, "__init__", _make_init)
    _frameworks.when_fit_begins.append(facts)


def _make_init(original: Callable[..., None]) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            original(self, *args, **kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        _note_made(self)

    return __init__


@_guard.safely
def _note_made(loader: Any) -> None:
    _made.append(_Made(loader))


@_guard.safely
def note_pass(loader: Any) -> None:
    """A pass begins: one with gradients, and no model in eval mode, is no evaluation."""
    if not torch.is_grad_enabled() or here.training.in_eval_mode():
        return
    for made in list(_made):
        if made.loader() is loader:
            made.trains = True


@_guard.safely
def facts() -> dict[str, Any]:
    """The length of the loader that was made next after the one that trains, and how far the others differ."""
    key = _native.training_loader()
    known = [(made, loader) for made in list(_made) if (loader := made.loader()) is not None]
    at = next((at for at, (_, loader) in enumerate(known) if id(loader) == key), None)
    if at is None:
        return {}
    trained = known[at][1]
    others = [loader for made, loader in known[at + 1 :] + known[:at] if not made.trains]
    lengths = _lengths_beside(trained, others)
    if not lengths:
        return {}
    first, rows = lengths[0][1], [length.rows for _, length in lengths]
    facts = {
        "torch.other_loader_batches": first.batches,
        "torch.other_loader_rows": first.rows,
        "torch.other_loader_workers": lengths[0][0].num_workers,
    }
    if len(lengths) > 1:
        facts["torch.other_loaders"] = len(lengths)
        facts["torch.other_loader_least_rows"] = min(rows)
        facts["torch.other_loader_most_rows"] = max(rows)
    return facts


def _lengths_beside(trained: Any, others: list[Any]) -> list[tuple[Any, _Length]]:
    """The loaders that have a length, without those that another library has made the trained one of."""
    own, found = _length(trained), []
    for loader in others:
        length = _length(loader)
        if length is None or not length.batches:
            continue
        same = loader.dataset is trained.dataset and (own is None or own.rows == length.rows)
        if loader is not trained and not same:
            found.append((loader, length))
    return found


def _length(loader: Any) -> _Length | None:
    """The length of a pass, where torch's own samplers say so: to ask others may draw random numbers."""
    if loader._dataset_kind != dataloader._DatasetKind.Map:
        return None
    batches = loader.batch_sampler
    try:
        if batches is None:
            rows = _rows(loader.sampler)
            return None if rows is None else _Length(rows, rows)
        rows = _rows(batches.sampler) if type(batches) is BatchSampler else None
        if rows is None:
            return None
        count = len(batches)
        # Of a loader that drops its last batch some rows are left.
        return _Length(count, min(rows, count * batches.batch_size))
    except Exception:  # A length is the user's code, and not every dataset has one.
        return None


def _rows(sampler: Any) -> int | None:
    is_torchs = type(sampler).__module__.startswith("torch.utils.data.")
    return len(sampler) if is_torchs else None
