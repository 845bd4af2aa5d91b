"""Data: passes over `tf.data` that a script makes itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from .. import _guard, _native, _passes
from .._native import end_wait, is_inside, request, take_batch
from .._passes import owned
from .._samples import samples_of

executing_eagerly = tf.executing_eagerly


def iterator_type() -> type:
    """The iterator of a dataset on one device."""
    from tensorflow.python.data.ops import iterator_ops

    return iterator_ops.OwnedIterator


def plain_next() -> Callable[[Any], Any]:
    """TensorFlow's own `__next__`, for whoever times it himself."""
    found: Any = iterator_type().__next__  # type: ignore[attr-defined]
    return getattr(found, "__wrapped__", found)


def attach() -> None:
    """Hooks the iteration of datasets."""
    _guard.replace(tf.data.Dataset, "__iter__", _make_iter)
    _guard.replace(iterator_type(), "__next__", _make_next)
    _guard.replace(iterator_type(), "get_next", _make_next)


def is_scripts() -> bool:
    """Whether the script itself does what is done here: not Keras, and not while a function is traced."""
    return not owned.depth and executing_eagerly()


def _make_iter(original: Callable[..., Any]) -> Callable[..., Any]:
    def __iter__(self: Any) -> Any:
        is_pass = not is_inside() and is_scripts()
        ticket = _passes.begin_pass(self) if is_pass else None
        try:
            iterator = original(self)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        finally:
            if ticket is not None:
                end_wait()
        if is_pass:
            _passes.keep(iterator, ticket)
        return iterator

    return __iter__


def _make_next(original: Callable[..., Any]) -> Callable[..., Any]:
    def __next__(self: Any) -> Any:
        ticket = getattr(self, "_laptime_ticket", None)
        if ticket is not None and not is_scripts():
            ticket = None
        if ticket is not None:
            request(self)
        try:
            batch = original(self)
        except BaseException as error:
            if ticket is not None:
                end_wait()
                if isinstance(error, (StopIteration, tf.errors.OutOfRangeError)):
                    _passes.linger(ticket)
            _guard.hide_frame(error)
            raise
        if ticket is not None and take_batch(self, batch):
            _native.count_samples(self, _samples(batch) or 0)
        return batch

    return __next__


@_guard.safely
def _samples(batch: Any) -> int:
    return samples_of(batch)
