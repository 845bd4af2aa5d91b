"""Keras without a line of code: every `Model.fit` is a fit with its epochs, steps and stages.

Attached by the start-up hook when Keras is imported. Without `laptime run` a callback does the same for
the fits it is given to:

    model.fit(x, y, epochs=5, callbacks=[laptime.keras.Callback()])

Importing this imports no Keras; using it does.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable as Function
from typing import Any

from . import _guard, _native, _passes, _session
from ._native import enter, exit

_CHECKPOINT = _native.stage_id("checkpoint")
_EVALUATE = _native.stage_id("evaluate")

# Under `laptime run` every fit is recorded; else those that were given a callback of ours.
_records_all = False
_attached = False


class _Here(threading.local):
    """What Keras does on the calling thread."""

    def __init__(self) -> None:
        self.fit: Any = None
        # Depth of calls whose loops over data are Keras' own, and no training loops of a script.
        self.depth = 0


here = _Here()


def attach() -> None:
    """Records every `fit` and `evaluate` of this process; what cannot attach is told in the run."""
    global _records_all
    _records_all = True
    _attach()


def __getattr__(name: str) -> Any:
    if name != "Callback":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()["Callback"] = _make_callback()
    return made


def _make_callback() -> type:
    import keras

    class Callback(keras.callbacks.Callback):
        """Records the fit it is given to, without `laptime run`; under it, it changes nothing."""

        def __init__(self) -> None:
            super().__init__()
            _attach()

    Callback.__module__ = __name__
    Callback.__qualname__ = "Callback"
    return Callback


def _attach() -> None:
    global _attached
    if _attached:
        return
    _attached = True
    _guard.attach("Model.fit", _attach_fit)
    _guard.attach("Model.evaluate", _attach_evaluate)
    _guard.attach("CallbackList", _attach_callback_list)
    _guard.attach("Model.save", _attach_save)
    _guard.attach("ModelCheckpoint", _attach_checkpoint)
    _guard.attach("TensorBoard", _attach_tensorboard)
    _guard.attach("keras loops", _attach_loops)


def _attach_loops() -> None:
    """Loops that a script writes itself; without `laptime run` only `fit` is recorded."""
    import keras

    if _records_all and keras.backend.backend() == "tensorflow":
        from . import _keras_loop

        _keras_loop.attach()


# Fits.


def _attach_fit() -> None:
    import keras

    _guard.replace(keras.Model, "fit", _make_fit)


def _make_fit(original: Function[..., Any]) -> Function[..., Any]:
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        outermost = here.fit is None
        if outermost and _records_all:
            _begin_fit(self)
        here.depth += 1
        try:
            return original(self, *args, **kwargs)
        finally:
            here.depth -= 1
            if outermost:
                _end_fit()

    return fit


@_guard.safely
def _begin_fit(model: Any) -> None:
    from ._keras_fit import Fit

    here.fit = Fit(model)
    _guard.tell_troubles()


def _end_fit() -> None:
    ended, here.fit = here.fit, None
    if ended is not None:
        _finish(ended)


@_guard.safely
def _finish(fit: Any) -> None:
    fit.end()


def _attach_callback_list() -> None:
    """The list of callbacks is told of every epoch, whatever the user's callbacks are."""
    import keras

    kind = keras.callbacks.CallbackList
    _guard.replace(kind, "on_train_begin", _before(_see_train_begin))
    _guard.replace(kind, "on_epoch_begin", _before(_see_epoch_begin))
    _guard.replace(kind, "on_epoch_end", _before(_see_epoch_end))
    _guard.replace(kind, "on_train_end", _after(_see_train_end))


def _before(note: Function[..., None]) -> Function[[Function[..., Any]], Function[..., Any]]:
    def make(original: Function[..., Any]) -> Function[..., Any]:
        def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
            note(self, args, kwargs)
            return original(self, *args, **kwargs)

        return noted

    return make


def _after(note: Function[..., None]) -> Function[[Function[..., Any]], Function[..., Any]]:
    def make(original: Function[..., Any]) -> Function[..., Any]:
        def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            note(self, args, kwargs)
            return result

        return noted

    return make


@_guard.safely
def _see_train_begin(callbacks: Any, args: Any, kwargs: Any) -> None:
    if here.fit is None and _is_wanted(callbacks):
        # This `fit` was looked up before its callback was made, so its begin was not seen.
        _begin_fit(callbacks.model)
    if _is_ours(callbacks) and here.fit.iterator is None:
        # The caller of `on_train_begin`: this function stands inside its guard, which stands inside that.
        here.fit.begin_training(callbacks, sys._getframe(3))


def _is_wanted(callbacks: Any) -> bool:
    ours = globals().get("Callback")
    return ours is not None and any(isinstance(one, ours) for one in callbacks.callbacks)


def _is_ours(callbacks: Any) -> bool:
    """Whether this list belongs to the fit that is recorded; a fit inside a fit has one of its own."""
    return here.fit is not None and here.fit.model is callbacks.model


@_guard.safely
def _see_epoch_begin(callbacks: Any, args: Any, kwargs: Any) -> None:
    if _is_ours(callbacks):
        here.fit.begin_epoch()


@_guard.safely
def _see_epoch_end(callbacks: Any, args: Any, kwargs: Any) -> None:
    if _is_ours(callbacks):
        logs = kwargs.get("logs", args[1] if len(args) > 1 else None)
        here.fit.end_epoch(logs or {})


@_guard.safely
def _see_train_end(callbacks: Any, args: Any, kwargs: Any) -> None:
    # Where the begin of `fit` was not seen, neither will be its end.
    if _is_ours(callbacks) and not here.depth:
        _end_fit()


# Evaluation.


def _attach_evaluate() -> None:
    import keras

    _guard.replace(keras.Model, "evaluate", _make_evaluate)
    _guard.replace(keras.Model, "predict", _make_predict)


def _make_evaluate(original: Function[..., Any]) -> Function[..., Any]:
    def evaluate(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_recorded = _begin_evaluation(self)
        here.depth += 1
        try:
            return original(self, *args, **kwargs)
        finally:
            here.depth -= 1
            if is_recorded:
                exit(_EVALUATE)
                _native.see_activity()

    return evaluate


@_guard.safely
def _begin_evaluation(model: Any) -> bool:
    if here.fit is not None:
        # A pass ends with its data, or because it is told to stop; else a callback evaluates within it.
        if model.stop_training:
            here.fit.end_pass()
    elif not _records_all or not _session.ensure_started():
        return False
    _passes.settle()
    enter(_EVALUATE)
    return True


def _make_predict(original: Function[..., Any]) -> Function[..., Any]:
    def predict(self: Any, *args: Any, **kwargs: Any) -> Any:
        here.depth += 1
        try:
            return original(self, *args, **kwargs)
        finally:
            here.depth -= 1

    return predict


# Callbacks and saving.


def _attach_save() -> None:
    import keras

    for name in ("save", "save_weights"):
        _guard.replace(keras.Model, name, _in_stage(_CHECKPOINT, lambda: _records_all))


def _attach_checkpoint() -> None:
    import keras

    _time_methods(keras.callbacks.ModelCheckpoint, _CHECKPOINT)


def _attach_tensorboard() -> None:
    import keras

    _time_methods(keras.callbacks.TensorBoard, _native.stage_id("tensorboard"))


def _time_methods(kind: type, stage: int) -> None:
    """Times what a callback does; on a thread without a fit, and in fits that are not recorded, nothing."""
    for name in [name for name in vars(kind) if name.startswith("on_")]:
        _guard.replace(kind, name, _in_stage(stage, lambda: here.fit is not None))


def _in_stage(
    stage: int, is_recorded: Function[[], bool]
) -> Function[[Function[..., Any]], Function[..., Any]]:
    def make(original: Function[..., Any]) -> Function[..., Any]:
        def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_recorded():
                return original(self, *args, **kwargs)
            enter(stage)
            try:
                return original(self, *args, **kwargs)
            finally:
                exit(stage)

        return timed

    return make
