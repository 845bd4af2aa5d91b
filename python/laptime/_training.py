"""Training: what the hooks must look at Python for: models, optimizers, and loops that count epochs.

What happens in each step is reported to the recorder directly (`laptime_record::Training`), which keeps the
passes, steps, epochs and fits; its answer leads here when something new turns up.
"""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from . import _frameworks, _guard, _loops, _native, _plan, _session

# A pass of more steps is no epoch but a way to say "for ever": at 10 ms a step it would take over a day.
_MOST_STEPS = 10_000_000


# Loaders whose facts are kept: a script that makes a new one for every epoch must not fill memory.
_MOST_LOADERS = 64


# What is called with a model that is about to be trained for the first time.
before_model_trains: list[Callable[[Any], object]] = []


# What is called just before a fit ends, while it can still be put on record.
before_fit_ends: list[Callable[[], object]] = []


class Creation(NamedTuple):
    """When an optimizer was made, and in which loops: those repeat whole trainings."""

    at: int
    loops: frozenset[Any]


class Training:
    """What one thread trains, as far as it takes Python to know it."""

    __slots__ = (
        "creations",
        "endless",
        "epoch",
        "evaluated",
        "fit_began",
        "fit_loops",
        "framework",
        "loader_facts",
        "model",
        "model_name",
        "modules",
        "newest_pass",
        "optimizers",
        "outside",
        "own_step_at",
        "passes_begun",
        "place",
        "plan_recorded",
        "planned_after",
        "sizes",
    )

    def __init__(self) -> None:
        self.modules: dict[int, weakref.ref[Any]] = {}
        self.model_name = ""
        # The model that was first trained last, and the framework of a script that updates it itself.
        self.model: weakref.ref[Any] | None = None
        self.framework = ""
        # The model that was put into eval mode last.
        self.evaluated: weakref.ref[Any] | None = None
        self.newest_pass = 0
        # What the loaders of passes before the fit say of it, by address: one may be gone when the fit begins.
        self.loader_facts: dict[int, dict[str, Any]] = {}
        self.optimizers: dict[int, weakref.ref[Any]] = {}
        self.creations: dict[int, Creation] = {}
        self._reset_fit()

    def _reset_fit(self) -> None:
        self.fit_began = 0
        self.fit_loops: frozenset[Any] = frozenset()
        self.sizes: dict[int, int] = {}
        self.place: _loops.Place | None = None
        self.epoch: Any = None
        # Whether the loader was made so long that no pass over it ends.
        self.endless = False
        self.plan_recorded = False
        # Epochs that are passes over a loader, and how many of them came before the loop that the plan is of.
        self.passes_begun = self.planned_after = 0
        # Where the newest update stood that is in no epoch loop, and the newest one of the script's own.
        self.outside: tuple[int, ...] = ()
        self.own_step_at: tuple[int, ...] = ()

    # Models.

    def register_module(self, module: Any, kind: int) -> None:
        """A module is called that was not known."""
        self.modules[id(module)] = weakref.ref(
            module, _forgetter(id(module), _native.forget_module, self.modules)
        )
        _native.register_module(module, kind)

    def register_model(self, model: Any, name: str) -> None:
        """A model is trained that was not trained before."""
        if _native.in_training() and not self.model_name:
            _native.fit_update({"label": name})
        self.model_name = name
        self.model = weakref.ref(model)
        _native.train_model(model)
        for prepare in before_model_trains:
            prepare(model)

    def record_eval_mode(self, model: Any) -> None:
        """A model is put into eval mode."""
        self.evaluated = weakref.ref(model)

    def in_eval_mode(self) -> bool:
        model = self.evaluated() if self.evaluated is not None else None
        return model is not None and not model.training

    # Loaders.

    def record_loader(self, loader: Any) -> None:
        """A pass over a loader begins, which may turn out to be the first of a fit."""
        if len(self.loader_facts) > _MOST_LOADERS:
            self.loader_facts.clear()
        self.loader_facts[id(loader)] = _frameworks.data_facts(loader)

    # Optimizers.

    def optimizer_created(self, optimizer: Any, frame: FrameType | None, *, foreign: bool) -> None:
        """An optimizer is made: loops around this repeat whole trainings.

        A foreign one, of another library than the framework's, may use gradients in a step of its own, as SAM does.
        """
        # The recorder takes some milliseconds to start: better now than in the first epoch.
        _session.ensure_started()
        key = id(optimizer)
        self.outside = ()
        self.creations[key] = Creation(_native.now(), _loops.identities(frame))
        self._track_until_gone(optimizer)
        _native.optimizer_created(optimizer, foreign)

    def remember(self, optimizer: Any) -> None:
        """Knows an optimizer whose making was not seen: another may stand where it stood, once it is gone."""
        if id(optimizer) not in self.optimizers:
            self._track_until_gone(optimizer)

    def _track_until_gone(self, optimizer: Any) -> None:
        key = id(optimizer)
        gone = _forgetter(key, _native.forget_optimizer, self.optimizers, self.creations)
        self.optimizers[key] = weakref.ref(optimizer, gone)

    def settle_update(self, optimizer: Any, frame: FrameType | None) -> None:
        """Finds the fit and the epoch of an update."""
        if not _native.has_optimizer(optimizer):
            self._register_optimizer(optimizer, frame)
        if _native.is_counted():
            return
        if self.endless:
            _native.begin_pass_steps()
            self._record_plan(frame, in_epochs=False)
        elif _native.begin_pass_epoch():
            # Not needed for this epoch, but it shows later whether the same loop goes on.
            before = self.place, self.epoch
            self.place = self._find_place(frame)
            self.epoch = _loops.epoch_now(frame, self.place) if self.place is not None else None
            if self._is_another_loop(*before):
                self.plan_recorded, self.planned_after = False, self.passes_begun
            self.passes_begun += 1
            self._record_plan(frame, in_epochs=True)
        elif not _native.has_passes():
            self._follow_loop(frame)
            self._record_plan(frame, in_epochs=self.epoch is not None)

    def _record_plan(self, frame: FrameType | None, *, in_epochs: bool) -> None:
        """Reads once how many epochs or steps the fit will have, where its loops say so."""
        if self.plan_recorded or not _native.in_training():
            return
        self.plan_recorded = True
        around = self._loops_around_creation()
        plan = (
            _plan.of_epochs(frame, self.place, around)
            if in_epochs
            else _plan.of_steps(frame, around)
        )
        if plan is None:
            return
        epochs = None if plan.epochs is None else self.planned_after + plan.epochs
        after = f"{self.planned_after} + " if self.planned_after and epochs else ""
        source = _plan.with_prefix(after, plan.source)
        _native.fit_update({"epochs": epochs, "steps": plan.steps, "plan_source": source})

    def _is_another_loop(self, place: _loops.Place | None, epoch: Any) -> bool:
        """Whether the epochs go on in another loop than before, or in the same begun once more."""
        if place is None or self.place is None or epoch is None or self.epoch is None:
            return False
        is_same = place.code is self.place.code and place.loop == self.place.loop
        return not is_same or _starts_again(epoch[1], self.epoch[1])

    def _register_optimizer(self, optimizer: Any, frame: FrameType | None) -> None:
        if _native.in_training() and not self._joins(optimizer, frame):
            self.end_fit()
        _native.register_optimizer(optimizer)
        if not _native.in_training():
            self._begin_fit(optimizer, frame)
        self._record_size(optimizer)

    def count_parameters(self, optimizer: Any) -> None:
        """An optimizer has updated: one that was made without its parameters knows them now."""
        if self.sizes.get(id(optimizer)) == 0:
            self._record_size(optimizer)

    def _optimizer_facts(self, optimizer: Any) -> dict[str, Any]:
        if optimizer is not None:
            return _frameworks.optimizer_facts(optimizer)
        # A script that updates its model itself.
        model = self.model() if self.model is not None else None
        return {"framework": self.framework} | _frameworks.model_facts(model)

    def _record_size(self, optimizer: Any) -> None:
        self.sizes[id(optimizer)] = self._optimizer_facts(optimizer).get("parameters", 0)
        _native.fit_update({"parameters": sum(self.sizes.values()) or None})

    def _joins(self, optimizer: Any, frame: FrameType | None) -> bool:
        """Whether an optimizer that is seen first belongs to the fit that is open.

        It does inside the fit's epoch, as a GAN's second one. Between epochs it does when the fit's epoch
        loop goes on and the optimizer is as old as the fit, or is made anew in each turn of that loop.
        """
        if _native.in_pass_epoch():
            return True
        creation = self.creations.get(id(optimizer), Creation(0, frozenset()))
        as_old = creation.at <= self.fit_began
        if self.place is None or self.epoch is None:
            return as_old and bool(_loops.identities(frame) & self.fit_loops - creation.loops)
        place = _loops.epoch_place(frame, frozenset())
        if place is None or place.loop is not self.place.loop:
            return False
        now = _loops.epoch_now(frame, place)
        if now is None or now[0] != self.epoch[0] or _starts_again(self.epoch[1], now[1]):
            return False
        made_in_loop = (now[0], place.code, place.loop.start) in creation.loops
        return as_old or (made_in_loop and place.loop.counts_epochs)

    def _find_place(self, frame: FrameType | None) -> _loops.Place | None:
        return _loops.epoch_place(frame, self._loops_around_creation(), _frameworks.trained_kinds())

    def _loops_around_creation(self) -> frozenset[Any]:
        return frozenset().union(*(creation.loops for creation in self.creations.values()))

    def _follow_loop(self, frame: FrameType | None) -> None:
        """Without a loader: the loop around the steps says which epoch this is."""
        now = _loops.epoch_now(frame, self.place) if self.place is not None else None
        position = _loops.position(frame) if now is None else ()
        if now is None and position != self.outside:
            self.place = self._find_place(frame)
            now = _loops.epoch_now(frame, self.place) if self.place is not None else None
            self.outside = position if now is None else ()
        _native.follow_loop(now is not None, now != self.epoch)
        self.epoch = now

    def settle_own_step(self, frame: FrameType | None, framework: str) -> None:
        """A backward pass that no optimizer follows: in a loop the script updates its model itself."""
        position = _loops.position(frame)
        if position != self.own_step_at:
            loops = _loops.identities(frame)
            if _native.in_training() and not loops & self.fit_loops:
                self.end_fit()
            if not loops:
                return
            self.own_step_at = position
        _session.ensure_started()
        self.framework = framework
        self.settle_update(None, frame)
        _native.end_own_step()

    # Fits.

    def _begin_fit(self, optimizer: Any, frame: FrameType | None) -> None:
        self._reset_fit()
        facts = {"label": self.model_name} | self._optimizer_facts(optimizer)
        facts |= _frameworks.common_facts()
        facts.pop("parameters", None)
        loader = _native.training_loader()
        data = self.loader_facts.get(loader, {}) if loader is not None else {}
        self.endless = data.get("steps_per_epoch", 0) > _MOST_STEPS
        if self.endless:
            data = {
                key: value for key, value in data.items() if key not in ("rows", "steps_per_epoch")
            }
        counts_rows = "rows" not in data and _frameworks.counts_rows(facts.get("framework"))
        _native.begin_training(optimizer, facts | data, counts_rows)
        self.fit_began = _native.now()
        self.fit_loops = _loops.identities(frame)

    def leave_unless_around(self, frame: FrameType | None) -> None:
        """Ends the training under way, unless the frame stands in one of its loops: the script has left it behind."""
        if _native.in_training() and not _loops.identities(frame) & self.fit_loops:
            self.end_fit()

    def end_fit(self) -> None:
        """The fit ends with its last epoch, evaluation or checkpoint."""
        if _native.in_training():
            for note in before_fit_ends:
                note()
            _native.end_training()
            self._reset_fit()

    def forget(self) -> None:
        """Lets go of the script's code and objects, at its end."""
        self.creations.clear()
        _plan.forget()
        self.fit_loops = frozenset()
        self.place = self.epoch = self.evaluated = self.model = None


def _forgetter(
    key: int, forget: Callable[[int], None], *known: dict[int, Any]
) -> Callable[[object], None]:
    """What is called when an object is gone; it may be at exit, when module globals are `None`."""

    def forgotten(_: object) -> None:
        for of in known:
            of.pop(key, None)
        forget(key)

    return forgotten


def _starts_again(before: Any, now: Any) -> bool:
    """Whether a loop's variable went back: the loop ended and was begun once more."""
    return type(before) is int and type(now) is int and now < before


class _Here(threading.local):
    """The training of the calling thread."""

    def __init__(self) -> None:
        self.training = Training()


here = _Here()


_ends_with_script = False


def end_with_script() -> None:
    """Ends what is trained when the script ends; called by every framework whose loops the script writes."""
    global _ends_with_script
    if not _ends_with_script:
        _ends_with_script = True
        atexit.register(_end_training)


@_guard.safely
def _end_training() -> None:
    from . import _passes

    _passes.settle()
    here.training.end_fit()
    # What is kept of the script's code must not outlive it: caches of others would complain.
    here.training.forget()
    _loops.forget()
