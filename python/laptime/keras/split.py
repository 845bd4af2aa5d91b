"""Split: waits for a batch and then trains on it, where Keras does both inside one compiled function."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _guard
from .._native import batch_arrived, enter, exit, wait_for_batch
from .._samples import samples_of

if TYPE_CHECKING:
    from .fit import Fit


class Split:
    """Keras' train function in two parts, so that the wait for data and the training are separate.

    Keras compiles the request for a batch and the step on it into one function. The same step is compiled
    here with the batch as its input: the same operations on the same shapes in the same order. Where that
    cannot be done, as over several devices, Keras' own function is used and the wait stays inside.
    """

    __slots__ = ("compiled", "failure", "fit", "iterator", "next", "original")

    def __init__(self, fit: Fit, original: Callable[..., Any]) -> None:
        self.fit = fit
        self.original = original
        self.iterator: Callable[[], Any] = lambda: None
        self.compiled: Any = None
        self.next: Any = None
        # Why the step could not be compiled.
        self.failure: Exception | None = None

    @classmethod
    def of(cls, fit: Fit, original: Callable[..., Any]) -> Split | None:
        """`None` where the model has a train function of its own, or several steps are one."""
        import keras

        kind = type(fit.model)
        own = ("make_train_function", "_make_function")
        is_keras = all(getattr(kind, name) is getattr(keras.Model, name, None) for name in own)
        if not is_keras or fit.iterator.steps_per_execution != 1:
            return None
        return cls(fit, original)

    def is_ready(self, iterator: Any) -> bool:
        """Whether the step is compiled for this iterator's batches; compiles it if it can be."""
        if iterator is not self.iterator():
            # Not held: an iterator that is torn down waits for its threads, and that is for Keras to say when.
            self.iterator = weakref.ref(iterator)
            self.compiled = self._compiled_for(iterator) if self.failure is None else None
        return self.compiled is not None

    @_guard.safely
    def _compiled_for(self, iterator: Any) -> Any:
        import tensorflow as tf

        from ..tensorflow.data import iterator_type, plain_next

        kind: Any = type(iterator)
        if kind is not iterator_type():
            return None
        self.next = plain_next()
        original = self.original
        if self.fit.model.run_eagerly:
            return lambda data: original((data,))
        spec = iterator.element_spec
        known = self.original.__dict__.setdefault("_laptime_compiled", [])
        for of, compiled in known:
            if of == spec:
                return compiled
        compiled = tf.function(
            lambda data: original((data,)), input_signature=[spec], autograph=False
        )
        enter(self.fit.stage)
        try:
            compiled.get_concrete_function()
        except Exception as error:
            # Most likely the user's step is wrong, which Keras' own function is to report. Once its tracing has
            # failed a function is spoilt, so it is made again.
            self.failure = error
            self.original = self.fit.make_again()
            return None
        finally:
            exit(self.fit.stage)
        known.append((spec, compiled))
        return compiled

    def run_whole(self, iterator: Any) -> Any:
        """Waits and trains in Keras' own function."""
        try:
            result = self.original(iterator)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        if self.failure is not None:
            # It was not the user's step.
            _guard.broken("wait for a batch", self.failure)
        return result

    def run(self, iterator: Any) -> Any:
        """Waits for a batch and trains on it."""
        fit = self.fit
        wait_for_batch()
        try:
            data = self.next(iterator)
        except BaseException as error:
            fit.ran_out()
            _guard.hide_frame(error)
            raise
        batch_arrived(self._count(data) or 0)
        enter(fit.stage)
        try:
            return self.compiled(data)
        except BaseException as error:
            if not fit.recovers(error):
                _guard.hide_frame(error)
                raise
            self.original = fit.make_again()
            self.compiled = self._compiled_for(iterator)
            return self.compiled(data)
        finally:
            exit(fit.stage)

    @_guard.safely
    def _count(self, data: Any) -> int:
        samples = samples_of(data)
        self.fit.take(samples, 1)
        return samples
