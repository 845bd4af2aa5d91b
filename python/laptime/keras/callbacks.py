"""What Keras does around the train function: callbacks, metrics, and what a validation is prepared for.

Three stages come from here. `callbacks` is everything that Keras' list of callbacks does, its own `History`
and progress bar included; a callback that has a stage of its own, such as `checkpoint`, keeps it. `metrics`
is computing, resetting and pulling the values of loss and metrics: on an asynchronous device this is where
the host waits for it. `prepare` is what `fit` does before its first epoch: it converts the data and builds
the model.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable as Function
from types import FrameType
from typing import Any

from .. import _guard, _native
from .._native import enter, exit, step_submitted
from .._passes import owned
from . import _begin_fit, _end_fit, here
from . import facts as keras_facts
from .facts import is_traced

CALLBACKS = _native.stage_id("callbacks")
METRICS = _native.stage_id("metrics")
_CHECKPOINT = _native.stage_id("checkpoint")
_LOSS = _native.stage_id("loss")
_TENSORBOARD = _native.stage_id("tensorboard")


def attach() -> None:
    """Hooks the list of callbacks, the callbacks that have a stage of their own, and metrics."""
    _guard.attach("CallbackList", _attach_list)
    _guard.attach("CallbackList.on_train_batch", _attach_batches)
    _guard.attach("ModelCheckpoint", _attach_checkpoint)
    _guard.attach("TensorBoard", _attach_tensorboard)
    _guard.attach("metrics of an epoch", _attach_result)
    _guard.attach("metrics of a step", _attach_metrics)
    _guard.attach("pythonify_logs", _attach_pythonify)
    _guard.attach("EpochIterator", _attach_iterator)
    if keras_facts.backend() == "jax":
        from . import jax_steps

        _guard.attach("steps on JAX", jax_steps.attach)


# The list of callbacks: it is told of every epoch, whatever the user's callbacks are.


def _attach_list() -> None:
    import keras

    kind = keras.callbacks.CallbackList
    _guard.replace(kind, "on_train_begin", _around(_see_train_begin))
    _guard.replace(kind, "on_epoch_begin", _around(_see_epoch_begin))
    _guard.replace(kind, "on_epoch_end", _around(_see_epoch_end))
    _guard.replace(kind, "on_train_end", _around(None, _see_train_end))


def _around(
    before: Function[..., None] | None, after: Function[..., None] | None = None
) -> Function[[Function[..., Any]], Function[..., Any]]:
    """Tells what happens before and after the callbacks are called, which is a stage."""

    def make(original: Function[..., Any]) -> Function[..., Any]:
        def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
            if before is not None:
                before(self, args, kwargs, sys._getframe().f_back)
            is_ours = here.fit is not None and here.fit.callbacks is self
            if is_ours:
                enter(CALLBACKS)
            try:
                result = original(self, *args, **kwargs)
            except BaseException as error:
                _guard.unseen(error)
                raise
            finally:
                if is_ours:
                    exit(CALLBACKS)
            if is_ours and after is not None:
                after(self, args, kwargs)
            return result

        return noted

    return make


@_guard.safely
def _see_train_begin(callbacks: Any, args: Any, kwargs: Any, frame: FrameType | None) -> None:
    # Not `callbacks.model`: on JAX that moves the state of the training into the model.
    model = callbacks._model
    if here.fit is None and _is_wanted(callbacks):
        # This `fit` was looked up before its callback was made, so its begin was not seen.
        _begin_fit(model)
    if here.fit is not None and here.fit.model is model and here.fit.callbacks is None:
        here.fit.begin_training(callbacks, frame)


def _is_wanted(callbacks: Any) -> bool:
    ours = sys.modules[_begin_fit.__module__].__dict__.get("Callback")
    return ours is not None and any(isinstance(one, ours) for one in callbacks.callbacks)


def _is_ours(callbacks: Any) -> bool:
    """Whether this list belongs to the fit that is recorded; a fit inside a fit has one of its own."""
    return here.fit is not None and here.fit.callbacks is callbacks


@_guard.safely
def _see_epoch_begin(callbacks: Any, args: Any, kwargs: Any, frame: FrameType | None) -> None:
    if _is_ours(callbacks):
        here.fit.begin_epoch()


@_guard.safely
def _see_epoch_end(callbacks: Any, args: Any, kwargs: Any, frame: FrameType | None) -> None:
    if _is_ours(callbacks):
        logs = kwargs.get("logs", args[1] if len(args) > 1 else None)
        here.fit.end_epoch(logs or {})


@_guard.safely
def _see_train_end(callbacks: Any, args: Any, kwargs: Any) -> None:
    # Where the begin of `fit` was not seen, neither will be its end.
    if not owned.depth:
        _end_fit()


# Batches: these are called in every step.


def _attach_batches() -> None:
    import keras

    kind = keras.callbacks.CallbackList
    for name, make in (
        ("on_train_batch_begin", _make_batch_begin),
        ("on_train_batch_end", _make_batch_end),
    ):
        if str(inspect.signature(getattr(kind, name))) != "(self, batch, logs=None)":
            raise TypeError(f"this Keras calls `{name}` in another way")
        _guard.replace(kind, name, make)


def _make_batch_begin(original: Function[..., Any]) -> Function[..., Any]:
    def on_train_batch_begin(self: Any, batch: Any, logs: Any = None) -> None:
        fit = here.fit
        is_ours = fit is not None and fit.callbacks is self
        if is_ours:
            if fit.is_waiting:
                # Only here has the loop in `fit` let go of the iterator of the pass before.
                fit.end_wait()
            enter(CALLBACKS)
        try:
            return original(self, batch, logs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            if is_ours:
                exit(CALLBACKS)

    return on_train_batch_begin


def _make_batch_end(original: Function[..., Any]) -> Function[..., Any]:
    def on_train_batch_end(self: Any, batch: Any, logs: Any = None) -> None:
        fit = here.fit
        is_ours = fit is not None and fit.callbacks is self
        if is_ours:
            if fit.results is not None and fit.in_pass:
                step_submitted(batch)
            enter(CALLBACKS)
        try:
            return original(self, batch, logs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            if is_ours:
                exit(CALLBACKS)

    return on_train_batch_end


# Callbacks with a stage of their own.


def _attach_checkpoint() -> None:
    import keras

    _time_methods(keras.callbacks.ModelCheckpoint, _CHECKPOINT)


def _attach_tensorboard() -> None:
    import keras

    _time_methods(keras.callbacks.TensorBoard, _TENSORBOARD)


def _time_methods(kind: type, stage: int) -> None:
    """Times what a callback does; on a thread without a fit, and in fits that are not recorded, nothing."""
    for name in [name for name in vars(kind) if name.startswith("on_")]:
        _guard.replace(kind, name, in_stage(stage, _in_fit))


def _in_fit(model: Any) -> bool:
    return here.fit is not None


def in_stage(
    stage: int, is_recorded: Function[[Any], bool]
) -> Function[[Function[..., Any]], Function[..., Any]]:
    """Makes a method that is timed where `is_recorded` says so."""

    def make(original: Function[..., Any]) -> Function[..., Any]:
        def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
            recorded = not is_traced() and is_recorded(self)
            if recorded:
                enter(stage)
            try:
                return original(self, *args, **kwargs)
            except BaseException as error:
                _guard.unseen(error)
                raise
            finally:
                if recorded:
                    exit(stage)

        return timed

    return make


# Metrics.


def _attach_result() -> None:
    import keras

    _guard.replace(keras.Model, "_get_metrics_result_or_logs", _make_result)


def _attach_metrics() -> None:
    import keras

    _guard.replace(keras.Model, "reset_metrics", in_stage(METRICS, _is_trained))
    _guard.replace(keras.Model, "compute_metrics", in_stage(METRICS, _is_trained_eagerly))
    _guard.replace(keras.Model, "_compute_loss", in_stage(_LOSS, _is_trained_eagerly))


def _attach_pythonify() -> None:
    from keras.src.utils import python_utils

    _guard.replace(python_utils, "pythonify_logs", _make_pythonify)


def _is_trained(model: Any) -> bool:
    return here.fit is not None and here.fit.model is model and not here.evaluations


def _is_trained_eagerly(model: Any) -> bool:
    return _is_trained(model) and here.fit.is_eager


def _make_result(original: Function[..., Any]) -> Function[..., Any]:
    def _get_metrics_result_or_logs(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_trained = _is_trained(self)
        if is_trained:
            # The first thing after a pass, also after one that was told to stop.
            _end_pass()
            enter(METRICS)
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            if is_trained:
                exit(METRICS)

    return _get_metrics_result_or_logs


@_guard.safely
def _end_pass() -> None:
    here.fit.end_pass()


def _make_pythonify(original: Function[..., Any]) -> Function[..., Any]:
    def pythonify_logs(logs: Any) -> Any:
        # On the threads that Keras has for its callbacks there is no fit.
        is_recorded = logs and here.fit is not None
        if is_recorded:
            enter(METRICS)
        try:
            return original(logs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            if is_recorded:
                exit(METRICS)

    return pythonify_logs


# Validation.


def _attach_iterator() -> None:
    from keras.src.trainers import epoch_iterator

    _guard.replace(epoch_iterator.EpochIterator, "__init__", _make_iterator_init)


def _make_iterator_init(original: Function[..., Any]) -> Function[..., Any]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if here.fit is not None:
            _see_iterator(sys._getframe().f_back)
        try:
            original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise

    return __init__


@_guard.safely
def _see_iterator(frame: FrameType | None) -> None:
    """Between two epochs `fit` itself prepares data only for the validation that follows."""
    fit = here.fit
    if fit.callbacks is None or fit.in_pass or here.evaluations:
        return
    while frame is not None and frame.f_code.co_name == "__init__":
        frame = frame.f_back
    if id(frame) == fit.frame_id:
        fit.begin_evaluation()
