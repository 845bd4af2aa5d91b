"""Layers: the time of each layer on some steps of a `fit` that runs eagerly; only where `--layers` asks for it.

While such a step runs, `Layer.__call__` is one that reads the clock. Times are a layer's own, without those of the
layers it calls, and of the forward pass: in the backward pass no layer is called.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from typing import Any

from .. import _guard, _native
from .._sampling import TOO_SHORT, Schedule, Steps, now
from . import facts as keras_facts

COMPILED = (
    "Keras compiles the train step, in which no layer can be timed; "
    "`model.compile(…, run_eagerly=True)` runs it layer by layer"
)
JAX = "Keras on JAX computes later than it calls its layers"

# What all fits of a process cost together.
_schedule = Schedule()


def why_not(model: Any) -> str:
    """Why the layers of a model cannot be timed; empty where they can."""
    if keras_facts.is_compiled(model):
        return COMPILED
    return JAX if keras_facts.backend() == "jax" else ""


class Layer:
    """One layer and what the sampled steps add up to."""

    __slots__ = ("calls", "flops", "forward", "layer", "name")

    def __init__(self, name: str, layer: Any) -> None:
        self.name = name
        self.layer = layer
        self.calls = 0
        self.flops: int | None = None
        self.forward = 0


class LayerTimes:
    """The layers of the model of one fit."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.steps = Steps()
        self.thread = threading.get_ident()
        self.layers: dict[int, Layer] = {}
        # Time of the layers called inside of each that is under way.
        self.open: list[int] = []
        self.overhead = 0

    def around(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """A train step that is sampled now and then."""

        @functools.wraps(step)
        def sampled(*args: Any) -> Any:
            original = self._begin() if _schedule.wants(self.steps) else None
            try:
                return step(*args)
            except BaseException as error:
                _guard.hide_frame(error)
                raise
            finally:
                if original is not None:
                    self._end(original)

        return sampled

    @_guard.safely
    def _begin(self) -> Any:
        import keras

        _schedule.take(self.steps)
        entered = now()
        self._find_layers()
        self.open.clear()
        self.overhead = 0
        original = keras.Layer.__call__
        keras.Layer.__call__ = self._timed(original)
        self.overhead += now() - entered
        return original

    @_guard.safely
    def _end(self, original: Any) -> None:
        import keras

        keras.Layer.__call__ = original
        _schedule.cost += self.overhead
        # Each time twice as many: a training that is killed keeps most of them.
        if self.steps.taken & (self.steps.taken - 1) == 0:
            self.record()

    def _find_layers(self) -> None:
        """A model that is built late has its layers only now."""
        names = {known.name for known in self.layers.values()}
        for layer in self.model._flatten_layers():
            if id(layer) not in self.layers:
                is_model = layer is self.model
                path = str(getattr(layer, "path", "") or layer.name)
                name = "" if is_model else path.removeprefix(f"{self.model.name}/")
                while name in names:
                    name += "'"
                names.add(name)
                self.layers[id(layer)] = Layer(name, layer)

    def _timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def __call__(layer: Any, *args: Any, **kwargs: Any) -> Any:
            entered = now()
            known = self.layers.get(id(layer))
            if known is None or threading.get_ident() != self.thread:
                return original(layer, *args, **kwargs)
            self.open.append(0)
            start = now()
            try:
                output = original(layer, *args, **kwargs)
            except BaseException as error:
                self.open.clear()
                _guard.hide_frame(error)
                raise
            end = now()
            inside = self.open.pop() if self.open else 0
            known.calls += 1
            known.forward += max(end - start - inside, 0)
            _count(known, output)
            left = now()
            if self.open:
                self.open[-1] += left - entered
            self.overhead += left - end + start - entered
            return output

        return __call__

    def record(self) -> None:
        """Puts what was sampled so far on record."""
        for known in self.layers.values():
            if known.calls:
                weights = getattr(known.layer, "_trainable_variables", ())
                _native.record_layer(
                    known.name,
                    type(known.layer).__name__,
                    keras_facts.count_parameters(weights),
                    known.flops,
                    self.steps.taken,
                    known.calls,
                    known.forward * 1e-9,
                    None,
                    None,
                    None,
                )

    @_guard.safely
    def end(self) -> None:
        """The fit has ended."""
        self.record()
        if not self.steps.taken:
            _native.layers_off(TOO_SHORT)


@_guard.safely
def _count(known: Layer, output: Any) -> None:
    """Operations of layers that multiply by a kernel: its last axis is the output's."""
    kernel = getattr(known.layer, "kernel", None)
    if kernel is not None and _is_dense(known.layer):
        of_each = math.prod(kernel.shape[:-1])
        known.flops = (known.flops or 0) + 2 * math.prod(output.shape) * of_each


def _is_dense(layer: Any) -> bool:
    kind = type(layer).__name__
    return kind == "Dense" or kind in ("Conv1D", "Conv2D", "Conv3D")
