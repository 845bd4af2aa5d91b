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
from typing import Any

from .. import _guard, _native
from .._around import Make, around, before, caller, given
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


# The list of callbacks: Keras calls it at every epoch, whatever the user's callbacks are.


def _attach_list() -> None:
    import keras

    kind = keras.callbacks.CallbackList
    _guard.replace(kind, "on_train_begin", _with_callbacks(_begin_training))
    _guard.replace(kind, "on_epoch_begin", _with_callbacks(_begin_epoch))
    _guard.replace(kind, "on_epoch_end", _with_callbacks(_end_epoch))
    _guard.replace(kind, "on_train_end", _with_callbacks(None, _end_training))


def _with_callbacks(
    note: Function[[Any, Any], None] | None, after: Function[[], None] | None = None
) -> Make:
    """Notes what happens before and after the callbacks are called, which is a stage."""

    def begin(args: Any, kwargs: Any) -> int | None:
        if note is not None:
            note(args, kwargs)
        if not _is_ours(args[0]):
            return None
        enter(CALLBACKS)
        return CALLBACKS

    def end(stage: int) -> None:
        exit(stage)
        if after is not None:
            after()

    return around(begin, end, exit)


@_guard.safely
def _begin_training(args: Any, kwargs: Any) -> None:
    callbacks = args[0]
    # Not `callbacks.model`: on JAX that moves the state of the training into the model.
    model = callbacks._model
    if here.fit is None and _is_wanted(callbacks):
        # This `fit` was looked up before its callback was made, so its begin was not seen.
        _begin_fit(model)
    if here.fit is not None and here.fit.model is model and here.fit.callbacks is None:
        here.fit.begin_training(callbacks, caller())


def _is_wanted(callbacks: Any) -> bool:
    ours = sys.modules[_begin_fit.__module__].__dict__.get("Callback")
    return ours is not None and any(isinstance(one, ours) for one in callbacks.callbacks)


def _is_ours(callbacks: Any) -> bool:
    """Whether this list belongs to the fit that is recorded; a fit inside a fit has one of its own."""
    return here.fit is not None and here.fit.callbacks is callbacks


@_guard.safely
def _begin_epoch(args: Any, kwargs: Any) -> None:
    if _is_ours(args[0]):
        here.fit.begin_epoch()


@_guard.safely
def _end_epoch(args: Any, kwargs: Any) -> None:
    if _is_ours(args[0]):
        here.fit.end_epoch(given("logs", 2, args, kwargs) or {})


@_guard.safely
def _end_training() -> None:
    # Where the begin of `fit` was not seen, neither will be its end.
    if not owned.depth:
        _end_fit()


# Batches: these are called in every step, so that they pack no arguments.


def _attach_batches() -> None:
    import keras

    kind = keras.callbacks.CallbackList
    for name, note in (
        ("on_train_batch_begin", _begin_batch),
        ("on_train_batch_end", _end_batch),
    ):
        if str(inspect.signature(getattr(kind, name))) != "(self, batch, logs=None)":
            raise TypeError(f"this Keras calls `{name}` in another way")
        _guard.replace(kind, name, _with_batch(note))


def _with_batch(note: Function[[Any, Any], None]) -> Make:
    def make(original: Function[..., Any]) -> Function[..., Any]:
        def on_train_batch(self: Any, batch: Any, logs: Any = None) -> None:
            fit = here.fit
            is_ours = fit is not None and fit.callbacks is self
            if is_ours:
                note(fit, batch)
                enter(CALLBACKS)
            try:
                return original(self, batch, logs)
            except BaseException as error:
                _guard.hide_frame(error)
                raise
            finally:
                if is_ours:
                    exit(CALLBACKS)

        return on_train_batch

    return make


def _begin_batch(fit: Any, batch: int) -> None:
    if fit.is_waiting:
        # Only here has the loop in `fit` let go of the iterator of the pass before.
        fit.end_wait()


def _end_batch(fit: Any, batch: int) -> None:
    if fit.results is not None and fit.in_pass:
        step_submitted(batch)


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


def in_stage(stage: int, is_recorded: Function[[Any], bool]) -> Make:
    """Makes a method that is timed where `is_recorded` says so."""

    def begin(args: Any, kwargs: Any) -> int | None:
        if is_traced() or not is_recorded(args[0]):
            return None
        enter(stage)
        return stage

    return around(begin, exit)


# Metrics.


def _attach_result() -> None:
    import keras

    _guard.replace(keras.Model, "_get_metrics_result_or_logs", around(_begin_result, exit))


def _attach_metrics() -> None:
    import keras

    _guard.replace(keras.Model, "reset_metrics", in_stage(METRICS, _is_trained))
    _guard.replace(keras.Model, "compute_metrics", in_stage(METRICS, _is_trained_eagerly))
    _guard.replace(keras.Model, "_compute_loss", in_stage(_LOSS, _is_trained_eagerly))


def _attach_pythonify() -> None:
    from keras.src.utils import python_utils

    _guard.replace(python_utils, "pythonify_logs", around(_begin_pythonify, exit))


def _is_trained(model: Any) -> bool:
    return here.fit is not None and here.fit.model is model and not here.evaluations


def _is_trained_eagerly(model: Any) -> bool:
    return _is_trained(model) and here.fit.is_eager


def _begin_result(args: Any, kwargs: Any) -> int | None:
    if not _is_trained(args[0]):
        return None
    # The first thing after a pass, also after one that was stopped.
    _end_pass()
    enter(METRICS)
    return METRICS


@_guard.safely
def _end_pass() -> None:
    here.fit.end_pass()


def _begin_pythonify(args: Any, kwargs: Any) -> int | None:
    # On the threads that Keras has for its callbacks there is no fit.
    if not args or not args[0] or here.fit is None:
        return None
    enter(METRICS)
    return METRICS


# Validation.


def _attach_iterator() -> None:
    from keras.src.trainers import epoch_iterator

    _guard.replace(epoch_iterator.EpochIterator, "__init__", before(_on_iterator))


def _on_iterator(args: Any, kwargs: Any) -> None:
    if here.fit is not None:
        _begin_validation()


@_guard.safely
def _begin_validation() -> None:
    """Between two epochs `fit` itself prepares data only for the validation that follows."""
    fit = here.fit
    if fit.callbacks is None or fit.in_pass or here.evaluations:
        return
    frame = caller()
    while frame is not None and frame.f_code.co_name == "__init__":
        frame = frame.f_back
    if id(frame) == fit.frame_id:
        fit.begin_evaluation()
