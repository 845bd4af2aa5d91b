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
from .._native import enter, exit, late_step, now
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
            _guard.unseen(error)
            raise
        finally:
            exit(_DATA_WAIT)
        self.samples += _count(batch) or 0
        self.steps += 1
        return batch


@_guard.safely
def _count(batch: Any) -> int:
    return samples_of(batch)


class LateLog:
    """The steps of one pass, each put on record when its results are there; has the form of a `StepLog`."""

    __slots__ = ("calls", "ended", "is_waiting", "newest", "settled")

    def __init__(self) -> None:
        self.is_waiting = False
        # Samples and steps of each call of the train function that has no end yet, by its last batch.
        self.calls: dict[int, tuple[int, int]] = {}
        self.ended: dict[int, int] = {}
        self.newest: tuple[int, int] | None = None
        self.settled = now()

    def request(self) -> None:
        self._settle()
        enter(_DATA_WAIT)
        self.is_waiting = True

    def arrived(self, samples: int) -> None:
        if self.is_waiting:
            self.is_waiting = False
            exit(_DATA_WAIT)

    def takes(self, samples: int, steps: int) -> None:
        self.newest = (samples, steps)

    def handed_over(self, batch: int) -> None:
        """The train function has returned; its last batch is this."""
        if self.newest is not None:
            self.calls[batch] = self.newest
            self.newest = None

    def see_end(self, batch: int) -> None:
        """The results of a call are there; any thread may tell."""
        self.ended[batch] = now()

    def ran_out(self) -> None:
        self.arrived(0)

    def end(self) -> None:
        """Everything has been waited for: what nobody saw end counts for an equal part of the time left."""
        self.arrived(0)
        self._settle()
        left = sum(steps for _, steps in self.calls.values())
        end, begun = now(), self.settled
        for samples, steps in self.calls.values():
            self._put(self.settled + (end - begun) * steps // left, samples, steps)
        self.calls.clear()

    def _settle(self) -> None:
        """Puts the calls that have ended on record, in their order."""
        while self.calls:
            batch = next(iter(self.calls))
            end = self.ended.pop(batch, None)
            if end is None:
                return
            samples, steps = self.calls.pop(batch)
            self._put(max(end, self.settled), samples, steps)

    def _put(self, end: int, samples: int, steps: int) -> None:
        begun = self.settled
        for step in range(steps):
            part = samples * (step + 1) // steps - samples * step // steps
            until = begun + (end - begun) * (step + 1) // steps
            late_step(self.settled, until, part)
            self.settled = until


def attach() -> None:
    """Reads the ends of steps where Keras waits for them."""
    import keras

    _guard.replace(keras.callbacks.CallbackList, "_on_train_batch_end", _make_batch_end)


def _make_batch_end(original: Callable[..., Any]) -> Callable[..., Any]:
    def _on_train_batch_end(self: Any, batch: Any, logs: Any = None) -> None:
        log = self.__dict__.get("_laptime_log")
        if log is not None:
            _see_end(log, batch, logs)
        try:
            return original(self, batch, logs)
        except BaseException as error:
            _guard.unseen(error)
            raise

    return _on_train_batch_end


@_guard.safely
def _see_end(log: LateLog, batch: int, logs: Any) -> None:
    from . import here

    if here.fit is None:
        wait_for(logs)
    else:
        # On the thread of the training, because a callback of the user needs the results.
        wait(logs)
    log.see_end(batch)


def wait_for(results: Any) -> None:
    """Waits until JAX has computed; what went wrong there is the training's to tell."""
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
    """The train function with its waits told apart; `None` where the model has one of its own."""
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
            _guard.unseen(error)
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
    if fit.log is not None:
        fit.log.takes(feed.samples, feed.steps)
