"""Training: fits, epochs and steps, told from what a framework's hooks see on one thread."""

from __future__ import annotations

import sys
import threading
import weakref
from types import FrameType
from typing import Any, NamedTuple

from . import _loops, _native, _session

DATA_WAIT = _native.stage_id("data_wait")
HOST_TO_DEVICE = _native.stage_id("host_to_device")
FORWARD = _native.stage_id("forward")
LOSS = _native.stage_id("loss")
BACKWARD = _native.stage_id("backward")
OPTIMIZER = _native.stage_id("optimizer")
COMMUNICATION = _native.stage_id("communication")
EVALUATE = _native.stage_id("evaluate")
CHECKPOINT = _native.stage_id("checkpoint")

_now = _native.now
_mark = _native.mark


class Pass:
    """One pass over a loader."""

    __slots__ = (
        "asked",
        "backwards",
        "began",
        "first_asked",
        "calls_to_evaluate",
        "calls_to_train",
        "loader",
        "mark",
        "open",
        "samples",
        "sizes",
        "step_start",
        "updates",
    )

    def __init__(self, training: Training, loader: Any) -> None:
        self.mark = _mark()
        self.began = self.asked = self.first_asked = _now()
        self.updates = -1
        # Weak, or a dataset would live as long as the pass is remembered.
        self.loader = weakref.ref(loader)
        self.open = True
        self.step_start: int | None = None
        self.samples = 0
        # Lengths of the index lists handed out; workers are asked for batches ahead of time.
        self.sizes: list[int] = []
        self.backwards = training.backwards
        self.calls_to_train = training.calls_to_train
        self.calls_to_evaluate = training.calls_to_evaluate


class Ticket:
    """What an iterator holds of its pass: a loop that is left early drops the iterator, and with it this."""

    __slots__ = ("of", "thread")

    def __init__(self, of: Pass) -> None:
        self.of = of
        self.thread = threading.get_ident()

    def __del__(self) -> None:
        try:
            if self.of.open and not sys.is_finalizing() and self.thread == threading.get_ident():
                here.training.end_pass(self.of)
        except Exception:  # Python would print what a destructor raises.
            pass


class Birth(NamedTuple):
    """When an optimizer was made, and in which loops: those repeat whole trainings."""

    at: int
    loops: frozenset[Any]


class Training:
    """What one thread trains. Every public method may be called by a hook at any time and never raises."""

    __slots__ = (
        "activity",
        "all_updates",
        "births",
        "backwards",
        "backwards_since_zero",
        "before_forward",
        "calls_since_backward",
        "calls_to_evaluate",
        "calls_to_train",
        "discarded",
        "discards_told",
        "epoch",
        "epoch_open",
        "epoch_samples",
        "evaluated",
        "evaluating",
        "first_event",
        "first_event_at",
        "fit_began",
        "fit_loops",
        "fit_open",
        "functional",
        "in_optimizer",
        "inside",
        "largest_batch",
        "last_update",
        "main_optimizer",
        "model_name",
        "optimizers",
        "parameters",
        "passes",
        "pending_samples",
        "place",
        "primary",
        "rows_known",
        "samples",
        "step_start",
        "trained",
        "updates",
        "updates_in_fit",
        "worker_stage",
    )

    def __init__(self) -> None:
        # Depth of calls whose inner module calls are not stages of their own.
        self.inside = 0
        self.in_optimizer = False
        self.passes: list[Pass] = []
        self.primary: Pass | None = None
        self.backwards = 0
        self.all_updates = 0
        self.calls_to_train = 0
        self.calls_to_evaluate = 0
        self.calls_since_backward = 0
        self.trained: dict[int, weakref.ref[Any]] = {}
        # The pass that is booked as an evaluation already, while it goes on.
        self.evaluating: Pass | None = None
        self.evaluated: weakref.ref[Any] | None = None
        self.optimizers: dict[int, weakref.ref[Any]] = {}
        self.births: dict[int, Birth] = {}
        self.model_name = ""
        self.functional = True
        self.before_forward: int | None = None
        self.first_event: int | None = None
        self.first_event_at = 0
        self.last_update: int | None = None
        self.activity: int | None = None
        self.pending_samples = 0
        self.samples = 0
        # In a loader's worker: the stage of its module calls.
        self.worker_stage: int | None = None
        self._reset_fit()

    def _reset_fit(self) -> None:
        self.fit_open = False
        self.fit_began = 0
        self.fit_loops: frozenset[Any] = frozenset()
        self.epoch_open = False
        self.main_optimizer = 0
        self.place: _loops.Place | None = None
        self.epoch: Any = None
        self.step_start: int | None = None
        self.updates = 0
        self.updates_in_fit = 0
        self.epoch_samples = 0
        self.largest_batch = 0
        self.rows_known = False
        self.parameters = 0
        self.discarded = 0
        self.discards_told = 0
        self.backwards_since_zero = 0

    @staticmethod
    def count_parameters(optimizer: Any) -> int:
        """Numbers an optimizer changes; the framework's hooks put in how to look at theirs."""
        return 0

    # What a loader does.

    def begin_pass(self, loader: Any) -> Pass:
        self._leave_evaluation()
        begun = Pass(self, loader)
        for known in list(self.passes):
            # Its iterator is still held somewhere, but the loader starts again.
            if known.loader() is loader:
                self.end_pass(known, at=begun.mark)
        self.passes.append(begun)
        return begun

    def ask(self, asked: Pass, grad_enabled: bool) -> None:
        """A batch is requested."""
        at = _now()
        asked.asked = at
        if asked.updates < 0 and _native.in_batches():
            # The user's `laptime.batches` tells of this pass.
            asked.open = False
            self.passes = [known for known in self.passes if known is not asked]
        if asked.updates != self.all_updates:
            asked.updates = self.all_updates
            asked.first_asked = at
        primary = self.primary
        if (
            primary is not None
            and self.updates
            and (primary is asked or self._evaluates(grad_enabled))
        ):
            self._end_pass_step(primary, at)
            if primary is not asked:
                # An evaluation in the middle of an epoch: the next step begins after it.
                primary.step_start = None
        if asked.step_start is None:
            asked.step_start = at

    def _evaluates(self, grad_enabled: bool) -> bool:
        return not grad_enabled or self._in_eval_mode()

    def _in_eval_mode(self) -> bool:
        model = self.evaluated() if self.evaluated is not None else None
        return model is not None and not model.training

    def take_batch(self, taken: Pass, samples: int) -> None:
        """A batch has come."""
        taken.samples += samples
        if self.functional:
            self.before_forward = _mark()
            # Until a step shows whether modules are called, one look per pass is enough.
            self.functional = taken is self.primary and self.calls_since_backward == 0

    def _end_pass_step(self, of: Pass, at: int) -> None:
        if of.step_start is not None:
            _native.step(of.step_start, at, of.samples, None)
        of.step_start = at
        of.samples = 0
        self.updates = 0

    def end_pass(self, ended: Pass, at: int | None = None) -> None:
        """The data has ended, or the loop was left."""
        if not ended.open:
            return
        ended.open = False
        self.passes = [known for known in self.passes if known is not ended]
        if ended is self.primary:
            if self.updates:
                self._end_pass_step(ended, _now())
            self.primary = None
            self._end_epoch(at)
            self.functional = True
        elif ended is self.evaluating:
            self._leave_evaluation()
        elif self._was_evaluation(ended):
            _native.book_since(ended.mark, EVALUATE)
            self.end_evaluation()

    def _begin_evaluation(self, of: Pass) -> None:
        """A trained model in eval mode is called in this pass: all of the pass is evaluation."""
        _native.book_since(of.mark, EVALUATE)
        _native.enter(EVALUATE)
        self.evaluating = of

    def _leave_evaluation(self) -> None:
        """Also when the pass is never ended because its iterator is kept: training goes on."""
        if self.evaluating is not None:
            self.evaluating.open = False
            self.passes = [known for known in self.passes if known is not self.evaluating]
            self.evaluating = None
            _native.exit(EVALUATE)
            self.end_evaluation()

    def _was_evaluation(self, ended: Pass) -> bool:
        if self.backwards != ended.backwards:
            return False
        if self.calls_to_train != ended.calls_to_train:
            return False
        return self.calls_to_evaluate != ended.calls_to_evaluate or self._in_eval_mode()

    # What a model does.

    def call_stage(self, module: Any, is_loss: bool, samples: int, grad_enabled: bool) -> int:
        """The stage of an outermost module call."""
        if is_loss:
            return LOSS
        if module.training:
            self._leave_evaluation()
            self.calls_to_train += 1
            self.calls_since_backward += 1
            if grad_enabled:
                self._see_event()
                self.pending_samples = samples
                if id(module) not in self.trained:
                    self._see_model(module)
            return FORWARD
        self.calls_to_evaluate += 1
        # A frozen teacher is in eval mode for ever; a model that was trained is being evaluated.
        if not grad_enabled and id(module) in self.trained and self.evaluating is None:
            asked = self._training_pass()
            if asked is None:
                return EVALUATE
            if asked is not self.primary:
                self._begin_evaluation(asked)
        self.calls_since_backward += 1
        return FORWARD

    def _see_model(self, module: Any) -> None:
        key = id(module)
        self.trained[key] = weakref.ref(module, lambda _: self.trained.pop(key, None))
        inner = getattr(module, "_orig_mod", getattr(module, "module", module))
        if self.fit_open and not self.model_name:
            _native.fit_update({"label": type(inner).__name__})
        self.model_name = type(inner).__name__

    def see_eval(self, module: Any) -> None:
        """A model is put into eval mode."""
        self.evaluated = weakref.ref(module)

    def end_evaluation(self) -> None:
        """An evaluation without a loader, or a checkpoint, has ended."""
        self.activity = _mark()
        self.first_event = None

    def begin_backward(self) -> None:
        self._leave_evaluation()
        self._see_event()
        if self.calls_since_backward == 0 and self.before_forward is not None:
            # No module was called: the model is inside a compiled function, or written without modules.
            _native.book_since(self.before_forward, FORWARD)
            self.functional = True
        self.before_forward = None
        self.calls_since_backward = 0
        self.backwards += 1
        self.backwards_since_zero += 1
        if self.in_optimizer:
            self.samples = max(self.samples, self.pending_samples)
        else:
            self.samples += self.pending_samples
        self.pending_samples = 0

    def moved_to_device(self) -> None:
        """A batch was copied: the forward pass begins after it."""
        if self.functional:
            self.before_forward = _mark()

    # What an optimizer does.

    def see_birth(self, optimizer: Any, frame: FrameType | None) -> None:
        """An optimizer is made: loops around this repeat whole trainings."""
        # The recorder takes some milliseconds to start: better now than in the first epoch.
        _session.ensure_started()
        key = id(optimizer)
        self.births[key] = Birth(_now(), _identities(frame))
        self.optimizers.pop(key, None)
        if self.primary is None:
            self.first_event = None

    def zeroed(self, optimizer: Any | None) -> None:
        """Gradients are about to be thrown away."""
        self._see_event()
        if self.in_optimizer or len(self.optimizers) != 1:
            self.backwards_since_zero = 0
            return
        # Another library's optimizer may have used the gradients in a step of its own, as SAM does.
        if optimizer is None or type(optimizer).__module__.startswith("torch.optim"):
            self.discarded += self.backwards_since_zero
        self.backwards_since_zero = 0

    def zero_ended(self) -> None:
        if self.functional and not self.passes:
            self.before_forward = _mark()

    def begin_update(self, optimizer: Any, frame: FrameType | None) -> None:
        self._see_event()
        if id(optimizer) not in self.optimizers:
            self._see_optimizer(optimizer, frame)
        if self.primary is not None or _native.in_batches():
            return
        training_pass = self._training_pass()
        if training_pass is not None:
            self._begin_pass_epoch(training_pass)
            # Not needed for this epoch, but it tells later whether the same loop goes on.
            self.place = self._find_place(frame)
            self.epoch = _loops.epoch_now(frame, self.place) if self.place is not None else None
        elif not self.passes:
            self._follow_loop(frame)

    def end_update(self, optimizer: Any) -> None:
        self.updates += 1
        self.all_updates += 1
        self.updates_in_fit += 1
        self.backwards_since_zero = 0
        if self.primary is not None or _native.in_batches():
            self.samples = 0
            return
        at = _now()
        if id(optimizer) == self.main_optimizer:
            if self.step_start is not None:
                _native.step(self.step_start, at, self.samples, None)
            self.epoch_samples += self.samples
            self.largest_batch = max(self.largest_batch, self.samples)
            self.samples = 0
            self.step_start = at
        self.activity = self.last_update = _mark()
        self.first_event = None
        if self.functional:
            self.before_forward = self.last_update

    def _see_event(self) -> None:
        """Something of a training step happens; the first after an update may begin an epoch."""
        if self.first_event is None and self.primary is None and not self.passes:
            self.first_event = _mark()
            self.first_event_at = _now()

    def _see_optimizer(self, optimizer: Any, frame: FrameType | None) -> None:
        if self.fit_open and not self._joins(optimizer, frame):
            self.end_fit()
        key = id(optimizer)
        self.optimizers[key] = weakref.ref(optimizer, lambda _: self._forget_optimizer(key))
        if not self.fit_open:
            self._begin_fit(optimizer)
            self.fit_began = _now()
            self.fit_loops = _identities(frame)
        self._count_parameters(optimizer)

    def _forget_optimizer(self, key: int) -> None:
        self.optimizers.pop(key, None)
        self.births.pop(key, None)

    def _joins(self, optimizer: Any, frame: FrameType | None) -> bool:
        """Whether an optimizer that is seen first belongs to the fit that is open.

        It does inside the fit's epoch, as a GAN's second one. Between epochs it does when the fit's epoch
        loop goes on and the optimizer is as old as the fit, or is made anew in each turn of that loop.
        """
        if self.primary is not None:
            return True
        birth = self.births.get(id(optimizer), Birth(0, frozenset()))
        as_old = birth.at <= self.fit_began
        if self.place is None or self.epoch is None:
            return as_old and bool(_identities(frame) & self.fit_loops - birth.loops)
        place = _loops.epoch_place(frame, frozenset())
        if place is None or place.loop is not self.place.loop:
            return False
        now = _loops.epoch_now(frame, place)
        if now is None or now[0] != self.epoch[0] or _starts_again(self.epoch[1], now[1]):
            return False
        made_in_loop = (now[0], place.code, place.loop.start) in birth.loops
        return as_old or (made_in_loop and place.loop.counts_epochs)

    def _find_place(self, frame: FrameType | None) -> _loops.Place | None:
        births = (birth.loops for birth in self.births.values())
        return _loops.epoch_place(frame, frozenset().union(*births))

    def _training_pass(self) -> Pass | None:
        """The pass that brought this step's data: of those asked together, the one asked first."""
        if not self.passes:
            return None
        newest = max(self.passes, key=lambda known: known.asked)
        # An iterator that someone took one batch from and kept was asked before the newest began.
        together = [
            known for known in self.passes if known.asked >= newest.began and known.step_start
        ]
        asked = [known for known in together if known.updates == newest.updates]
        return min(asked, key=lambda known: known.first_asked, default=None)

    def _begin_pass_epoch(self, training_pass: Pass) -> None:
        self.primary = training_pass
        self._begin_epoch(training_pass.mark)

    def _begin_epoch(self, mark: int | None) -> None:
        # One that is open and not ours is the user's: `for epoch in laptime.epochs(10)`.
        if not _native.epoch_is_open():
            _native.epoch_begin(mark)
            self.epoch_open = True

    def _follow_loop(self, frame: FrameType | None) -> None:
        """Without a loader: the loop around the steps says which epoch this is."""
        now = _loops.epoch_now(frame, self.place) if self.place is not None else None
        if now is None:
            self.place = self._find_place(frame)
            now = _loops.epoch_now(frame, self.place) if self.place is not None else None
        if now != self.epoch or (now is not None and not self.epoch_open):
            self._end_epoch(self.last_update)
            if now is not None:
                self._begin_epoch(self.first_event)
            self.step_start = self.first_event_at
            self.epoch = now
        elif self.step_start is None:
            self.step_start = self.first_event_at

    # Fits and epochs.

    def _begin_fit(self, optimizer: Any) -> None:
        self._reset_fit()
        self.main_optimizer = id(optimizer)
        training_pass = self._training_pass()
        facts: dict[str, Any] = {"framework": "torch", "label": self.model_name}
        facts["optimizer"] = type(optimizer).__name__
        rate = optimizer.param_groups[0].get("lr")
        if isinstance(rate, float):
            facts["lr"] = f"{rate:g}"
        if training_pass is not None:
            facts |= loader_facts(training_pass.loader())
            self.rows_known = True
        if _native.fit_is_open():
            # The user's own fit: it only lacks what can be seen here.
            _native.fit_update(facts)
            return
        _native.fit_begin(facts, self.first_event if training_pass is None else training_pass.mark)
        self.fit_open = True

    def _count_parameters(self, optimizer: Any) -> None:
        self.parameters += self.count_parameters(optimizer)
        _native.fit_update({"parameters": self.parameters})

    def _end_epoch(self, at: int | None) -> None:
        if not self.epoch_open:
            return
        _native.epoch_end(at)
        self.epoch_open = False
        self.activity = at if at is not None else _mark()
        if not self.rows_known and self.epoch_samples:
            self.rows_known = True
            _native.fit_update({"rows": self.epoch_samples, "batch": self.largest_batch})
        self.epoch_samples = 0
        self._tell_discards()

    def _tell_discards(self) -> None:
        """Thrown away once or more for each update: a leftover at an epoch's end is no news."""
        if self.discarded >= max(self.updates_in_fit, 1) and self.discarded != self.discards_told:
            self.discards_told = self.discarded
            _native.fit_update(
                {"discarded_gradients": self.discarded, "updates": self.updates_in_fit}
            )

    def end_fit(self) -> None:
        """The fit ends with its last epoch, evaluation or checkpoint."""
        if not self.fit_open:
            return
        if self.primary is not None:
            self.end_pass(self.primary)
        self._end_epoch(self.last_update)
        self._tell_discards()
        _native.fit_end(self.activity)
        self.optimizers.clear()
        self._reset_fit()

    def forget(self) -> None:
        """Lets go of the script's code and objects, at its end."""
        self.births.clear()
        self.fit_loops = frozenset()
        self.place = self.epoch = self.evaluated = None
        self.passes = []


def _identities(frame: FrameType | None) -> frozenset[Any]:
    return frozenset(_loops.identity(at, loop) for _, at, loop in _loops.enclosing(frame))


def _starts_again(before: Any, now: Any) -> bool:
    """Whether a loop's variable went back: the loop ended and was begun once more."""
    return type(before) is int and type(now) is int and now < before


def loader_facts(loader: Any) -> dict[str, Any]:
    """What a loader tells of a fit; asks nothing that changes it."""
    if loader is None:
        return {}
    facts: dict[str, Any] = {"num_workers": loader.num_workers}
    try:
        facts["rows"] = len(loader.dataset)
        # `len(loader)` of an iterable dataset makes the loader count and warn.
        if not hasattr(loader.dataset, "__iter__") or hasattr(loader.dataset, "__getitem__"):
            facts["steps_per_epoch"] = len(loader)
    except Exception:  # A length is the user's code, and not every dataset has one.
        pass
    batch = loader.batch_size or getattr(loader.batch_sampler, "batch_size", None)
    if isinstance(batch, int):
        facts["batch"] = batch
    return facts


class _Here(threading.local):
    """The training of the calling thread."""

    def __init__(self) -> None:
        self.training = Training()


here = _Here()
