"""One `Model.fit` of Keras as it is recorded: its facts, epochs, steps, waits, and its train function."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from .. import _frameworks, _guard, _native, _passes, _sampling, _session, _training
from .._native import batch_arrived, enter, exit, next_step, request_batch, step_computed
from .._samples import samples_of
from . import EVALUATE
from . import facts as keras_facts

TRAIN_FUNCTION = "train_function"
_PREPARE = _native.stage_id("prepare")

# Undoes what laptime changed in a model whose step fails, and says whether there was something; `None` where
# nothing was to be changed.
recover: Callable[[Any, BaseException], bool] | None = None

# What Keras calls accuracy, by kind of label.
_ACCURACIES = frozenset(
    {
        "acc",
        "accuracy",
        "binary_accuracy",
        "categorical_accuracy",
        "sparse_categorical_accuracy",
    }
)


class Fit:
    """One `Model.fit` on the thread that takes its steps."""

    __slots__ = (
        "batch",
        "callbacks",
        "ends",
        "epoch_samples",
        "epoch_steps",
        "frame_id",
        "in_pass",
        "is_eager",
        "is_evaluating",
        "is_split",
        "is_waiting",
        "iterator",
        "layers",
        "model",
        "results",
        "rows",
        "sized",
        "stage",
        "train_function",
    )

    def __init__(self, model: Any) -> None:
        _session.ensure_started()
        _passes.settle()
        _training.here.training.end_fit()
        self.model = model
        self.iterator: Any = None
        # The list of callbacks, from when everything is prepared; and the frame of Keras' own `fit`.
        self.callbacks: Any = None
        self.frame_id = 0
        # Whether a pass over the data is under way.
        self.in_pass = False
        # What the newest step gives, of a framework that computes asynchronously, and when each step was computed,
        # by its last batch: noted on any thread until it is reported on this one.
        self.results: Any = None
        self.ends: dict[int, int] = {}
        # Whether the wait for a batch is still open, and whether an evaluation is that has not been called yet.
        self.is_waiting = self.is_evaluating = False
        # Whether the train function is Python, so that what it calls has a stage of its own.
        self.is_eager = False
        # What times the layers, where that is asked for.
        self.layers: Any = None
        self.epoch_samples = self.epoch_steps = 0
        self.rows = self.batch = 0
        self.sized = False
        self.stage = _native.stage_id(TRAIN_FUNCTION)
        self.train_function: Any = None
        facts = {"framework": "keras", "label": model.name}
        _native.begin_framework_fit(facts | keras_facts.version_facts())
        enter(_PREPARE)

    def begin_training(self, callbacks: Any, frame: FrameType | None) -> None:
        """Everything is prepared: what is known of the data is recorded, and the train function timed."""
        exit(_PREPARE)
        self.callbacks = callbacks
        facts = keras_facts.model_facts(self.model) | _frameworks.common_facts()
        self.is_eager = not keras_facts.is_compiled(self.model)
        if not self.is_eager:
            facts["compiled"] = TRAIN_FUNCTION
        facts["steps_per_epoch"] = callbacks.params.get("steps")
        inside = _fit_frame(frame)
        facts |= keras_facts.ending_facts(callbacks, inside.f_locals if inside else {}) or {}
        if inside is not None:
            self.frame_id, self.iterator = id(inside), inside.f_locals.get("epoch_iterator")
            facts |= keras_facts.validation_facts(inside.f_locals) or {}
        if self.iterator is not None:
            facts |= _array_facts(self.iterator)
            _guard.replace(type(self.iterator), "__next__", _make_next)
        facts |= keras_facts.computing_facts(self.model, self.iterator) or {}
        self.rows, self.batch = facts.get("rows", 0), facts.get("batch", 0)
        _native.update_framework_fit(facts)
        if _sampling.is_asked():
            self._time_layers()
        self._time_train_function()

    @_guard.safely
    def _time_layers(self) -> None:
        from . import layers

        reason = layers.why_not(self.model)
        if reason:
            _native.layers_off(reason)
        else:
            self.layers = layers.LayerTimes(self.model)

    # Epochs.

    def begin_epoch(self) -> None:
        """An epoch begins with its callbacks' `on_epoch_begin`."""
        self.end_pass()
        if self.model.train_function is not self.train_function:
            # A callback has compiled the model anew.
            self._time_train_function()
        self.epoch_samples = self.epoch_steps = 0
        is_late = keras_facts.backend() == "jax"
        if is_late:
            self.callbacks._laptime_ends = self.ends = {}
        _native.begin_framework_epoch(is_late)
        self.in_pass = True

    def end_pass(self) -> None:
        """The pass over the data has ended, if it has not before."""
        if not self.in_pass:
            return
        self.in_pass = False
        results, self.results = self.results, None
        if results is not None:
            from .jax_steps import wait

            wait(results)
        self.report_ends()
        _native.end_framework_epoch()
        self._record_size()

    def report_ends(self) -> None:
        """Reports the steps that were computed since the last call."""
        while self.ends:
            step_computed(*self.ends.popitem())

    def begin_evaluation(self) -> None:
        """Keras prepares the data of a validation, which it calls `evaluate` for next."""
        self.is_evaluating = True
        _native.begin_pause(EVALUATE)

    def takes_evaluation(self) -> bool:
        """Whether the evaluation that is called has begun already."""
        begun, self.is_evaluating = self.is_evaluating, False
        return begun

    def end_epoch(self, logs: dict[str, Any]) -> None:
        """Records how well the epoch went, evaluation included."""
        self.end_pass()
        for name, value in logs.items():
            apart, plain = ("validation_", name[4:]) if name.startswith("val_") else ("", name)
            kind = "accuracy" if plain in _ACCURACIES else plain
            if kind in ("loss", "accuracy"):
                _session.measured(apart + kind, value)

    def _record_size(self) -> None:
        """What only the first pass shows: the size of a model that is built late."""
        if self.sized:
            return
        self.sized = True
        weights = self.model.trainable_weights
        facts: dict[str, Any] = {"parameters": keras_facts.count_parameters(weights)}
        if keras_facts.backend() != "jax":
            # On JAX the values are not in the model while it trains.
            facts |= keras_facts.device_facts(weights)
        _native.update_framework_fit(facts)

    def end(self) -> None:
        """The fit has ended, or failed."""
        self.end_pass()
        if self.callbacks is None:
            exit(_PREPARE)
        if self.takes_evaluation():
            _native.end_pause(EVALUATE)
        self._restore_train_function()
        if self.layers is not None:
            self.layers.end()
        _native.end_framework_fit()

    # Steps.

    def take(self, samples: int, steps: int) -> None:
        """Counts a step; Keras may fuse several into one call."""
        self.epoch_samples += samples
        self.epoch_steps += steps

    def end_wait(self) -> None:
        """The batch is here, or what will bring it."""
        self.is_waiting = False
        batch_arrived(0)

    @_guard.safely
    def ran_out(self) -> None:
        """There is no further batch."""
        self.is_waiting = False
        if self.in_pass:
            _native.data_exhausted()
        self.end_pass()

    def _time_train_function(self) -> None:
        original = self.model.train_function
        # One of ours is left by a fit that failed.
        original = getattr(original, "_laptime_original", original)
        timed: Any = self._timed(original)
        timed._laptime_original = original
        self.train_function = self.model.train_function = timed

    def _restore_train_function(self) -> None:
        ours = self.train_function
        if ours is not None and self.model.train_function is ours:
            self.model.train_function = ours._laptime_original

    def _timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        split = None
        self.is_split = False
        if self.layers is not None:
            original = self.layers.around(original)
        if keras_facts.backend() == "jax":
            from . import jax_steps

            return jax_steps.timed(self, original) or self._timed_whole(original, None)
        if type(self.iterator).__name__ == "TFEpochIterator":
            from .split import Split

            split = Split.of(self, original)
            self.is_split = split is not None
        return self._timed_whole(original, split)

    def make_again(self) -> Callable[..., Any]:
        """Lets Keras make its train function anew."""
        ours = self.model.train_function
        self.model.make_train_function(force=True)
        ours._laptime_original = made = self.model.train_function
        self.model.train_function = ours
        return made

    def _timed_whole(self, original: Callable[..., Any], split: Any) -> Callable[..., Any]:
        def train_function(*args: Any) -> Any:
            nonlocal original
            if self.is_waiting:
                self.end_wait()
            try:
                if split is not None and self.in_pass and split.is_ready(args[0]):
                    return split.run(args[0])
                self.count_step(args[-1])
                enter(self.stage)
                try:
                    return original(*args) if split is None else split.run_whole(*args)
                finally:
                    exit(self.stage)
            except BaseException as error:
                if isinstance(error, StopIteration):
                    self.ran_out()
                if not self.recovers(error):
                    _guard.hide_frame(error)
                    raise
            original = self.make_again()
            if split is not None:
                split.original = original
            return original(*args)

        return train_function

    def recovers(self, error: BaseException) -> bool:
        """Whether a step that failed can be taken again without what laptime changed."""
        return recover is not None and recover(self.model, error)

    @_guard.safely
    def count_step(self, data: Any) -> None:
        """Counts the samples of a step whose batch is in a list, or is fetched inside the train function."""
        if not self.in_pass:
            return
        if isinstance(data, list):
            self._take_fused(sum(samples_of(batch) for batch in data), len(data))
            return
        steps, batches = self.iterator.steps_per_execution, self.iterator.num_batches
        if batches is not None:
            steps = min(steps, batches - self.epoch_steps)
        samples = steps * (self.batch or samples_of(getattr(data, "element_spec", None)))
        if self.rows:
            samples = min(samples, self.rows - self.epoch_samples)
        self._take_fused(samples, steps)

    def _take_fused(self, samples: int, steps: int) -> None:
        self.take(samples, steps)
        _native.count_step(samples, steps)


def _make_next(original: Callable[..., Any]) -> Callable[..., Any]:
    from . import here

    def __next__(self: Any) -> Any:
        fit = here.fit
        is_ours = fit is not None and fit.iterator is self and fit.in_pass
        # Only the first and the last turn do more than to hand out the dataset's iterator.
        is_wait = is_ours and not (fit.is_split and 0 < fit.epoch_steps != self.num_batches)
        if is_wait:
            if fit.ends:
                fit.report_ends()
            request_batch()
        elif is_ours:
            next_step()
        try:
            item = original(self)
        except BaseException as error:
            if is_ours:
                fit.ran_out()
            _guard.hide_frame(error)
            raise
        if not is_wait:
            return item
        # The wait goes on until the callbacks get the batch: meanwhile the batch before, or the
        # iterator of the pass before, is torn down.
        fit.is_waiting = True
        return item

    return __next__


def _fit_frame(frame: FrameType | None) -> FrameType | None:
    """The frame of Keras' own `fit`: only this holds what is iterated, and what is validated with."""
    while frame is not None:
        if frame.f_code.co_name == "fit" and "epoch_iterator" in frame.f_code.co_varnames:
            return frame
        frame = frame.f_back
    return None


def _array_facts(iterator: Any) -> dict[str, Any]:
    """Rows and batch size, where the data is held in arrays and all of it makes an epoch."""
    adapter = iterator.data_adapter
    batch, batches = adapter.batch_size, adapter.num_batches
    if batch is None or batches is None or iterator.steps_per_epoch is not None:
        return {}
    rows = batch * batches
    if adapter.has_partial_batch:
        rows += adapter.partial_batch_size - batch
    return {"rows": rows, "batch": batch}
