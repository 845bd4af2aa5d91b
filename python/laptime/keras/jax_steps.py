"""Keras' train function on JAX: its batches, and when its steps have really ended.

JAX returns before it has computed, also on a CPU, so that a pass over the data is handed over long before it
is done. Keras waits for the results of each step on a thread of its callbacks: the end of a step is read there.
At the end of a pass we wait ourselves, where Keras is about to: else the rest of an epoch would be taken for
the validation that follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _guard, _native
from .._around import before, given
from .._native import count_step, enter, exit, now
from .._samples import samples_of

if TYPE_CHECKING:
    from .fit import Fit

_DATA_WAIT = _native.stage_id("data_wait")
_DEVICE_WAIT = _native.stage_id("device_wait")


class Feed:
    """Hands a train function its batches, and times the wait for each."""

    __slots__ = ("iterator", "samples", "steps")

    def __init__(self) -> None:
        self.iterator: Any = None
        self.samples = self.steps = 0

    def begin(self, iterator: Any) -> Feed:
        """The train function is called with this iterator."""
        self.iterator = iterator
        self.samples = self.steps = 0
        return self

    def __iter__(self) -> Feed:
        return self

    def __next__(self) -> Any:
        enter(_DATA_WAIT)
        try:
            batch = next(self.iterator)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        finally:
            exit(_DATA_WAIT)
        self.samples += _count(batch) or 0
        self.steps += 1
        return batch


@_guard.safely
def _count(batch: Any) -> int:
    return samples_of(batch)


def attach() -> None:
    """Reads the ends of steps where Keras waits for them."""
    import keras

    _guard.replace(keras.callbacks.CallbackList, "_on_train_batch_end", before(_on_batch_end))


def _on_batch_end(args: Any, kwargs: Any) -> None:
    ends = args[0].__dict__.get("_laptime_ends")
    if ends is not None:
        _record_end(ends, given("batch", 1, args, kwargs), given("logs", 2, args, kwargs))


@_guard.safely
def _record_end(ends: dict[int, int], batch: int, logs: Any) -> None:
    from . import here

    if here.fit is None:
        wait_for(logs)
    else:
        # On the thread of the training, because a callback of the user needs the results.
        wait(logs)
    ends[batch] = now()


def wait_for(results: Any) -> None:
    """Waits until JAX has computed; what went wrong there is for the training to raise."""
    import jax

    try:
        jax.block_until_ready(results)
    except Exception:
        pass


def wait(results: Any) -> None:
    """The same on the thread of the training, as a stage."""
    enter(_DEVICE_WAIT)
    try:
        wait_for(results)
    finally:
        exit(_DEVICE_WAIT)


def timed(fit: Fit, original: Callable[..., Any]) -> Callable[..., Any] | None:
    """The train function with its waits as stages of their own; `None` where the model has one of its own."""
    import keras

    kind = type(fit.model)
    own = ("make_train_function", "_make_function")
    if not all(getattr(kind, name) is getattr(keras.Model, name, None) for name in own):
        return None
    feed = Feed()

    def train_function(state: Any, iterator: Any) -> Any:
        enter(fit.stage)
        try:
            result = original(state, feed.begin(iterator))
        except BaseException as error:
            if isinstance(error, StopIteration):
                fit.ran_out()
            _guard.hide_frame(error)
            raise
        finally:
            exit(fit.stage)
        _took(fit, feed, result)
        return result

    return train_function


@_guard.safely
def _took(fit: Fit, feed: Feed, result: Any) -> None:
    fit.take(feed.samples, feed.steps)
    # Of what a step gives only its logs outlive the next one: JAX takes the rest over.
    fit.results = result[0]
    count_step(feed.samples, feed.steps)
