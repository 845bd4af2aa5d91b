"""What the hooks of a framework are made of; `docs/add-a-framework.md` shows how.

A framework's hooks are a module with a function `attach()`, which is called once the framework is imported.
They translate calls of the framework into events; the recorder makes fits, epochs and steps of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from . import _frameworks, _native, _passes, _session, _training
from ._around import Make, after, around, before, caller
from ._frameworks import register
from ._guard import attach, hide_frame, replace, safely
from ._native import enter, exit, stage_id
from ._samples import samples_of


class _WithinPart(threading.local):
    """Whether this thread is inside a part of a fit that has a row of its own, such as a candidate of a search."""

    def __init__(self) -> None:
        self.depth = 0


within_part = _WithinPart()


class Fit:
    """One fit of a framework that loops over its data itself, epoch by epoch.

    A fit that is open already, such as the user's own, gets the facts and the steps.
    """

    __slots__ = ("_is_open",)

    def __init__(self, **facts: Any) -> None:
        self._is_open = True
        _session.ensure_started()
        _passes.settle()
        _training.here.training.end_fit()
        _native.begin_framework_fit(facts | _frameworks.common_facts())

    def update(self, **facts: Any) -> None:
        """Adds what is known of the fit by now."""
        _native.update_framework_fit(facts)

    def begin_epoch(self) -> None:
        """A pass over the data begins; one that is open ends."""
        self.end_epoch()
        _native.begin_framework_epoch(False)

    def request(self) -> None:
        """A batch is requested: the step before it ends, and the wait begins."""
        _native.request_batch()

    def arrived(self, samples: int = 0) -> None:
        """The batch is there, with this many samples."""
        _native.batch_arrived(samples)

    def end_epoch(self) -> None:
        """The pass over the data has ended, if one is open."""
        _native.data_exhausted()
        _native.end_framework_epoch()

    def end(self) -> None:
        """The fit has ended, or failed."""
        if self._is_open:
            self._is_open = False
            self.end_epoch()
            _native.end_framework_fit()


class Rounds:
    """One fit of a framework that trains in rounds, each a step over all of its data; it has no epochs.

    A fit that is open already, such as that of a wrapper around the framework, gets the facts and the steps.
    """

    __slots__ = ("__weakref__", "_is_open", "_stage", "is_ours")

    def __init__(self, stage: int, **facts: Any) -> None:
        self._stage = stage
        self._is_open = False
        # Whether the fit is not one that was open.
        self.is_ours = not _native.fit_is_open()
        _native.begin_training(self, facts | _frameworks.common_facts(), False)
        _native.register_optimizer(self)

    @classmethod
    def of(cls, frame: FrameType | None, stage: int, **facts: Any) -> Rounds | None:
        """The rounds of a call from this frame; `None` where it is part of a training that is under way."""
        if within_part.depth:
            return None
        _session.ensure_started()
        _passes.settle()
        _training.here.training.leave_unless_around(frame)
        return None if _native.in_training() or _native.is_inside() else cls(stage, **facts)

    def update(self, **facts: Any) -> None:
        """Adds what is known of the fit by now."""
        _native.fit_update(facts)

    def begin_round(self) -> None:
        """A round begins; one that is open ends."""
        self.end_round()
        self._is_open = True
        _native.begin_function(self._stage, True)
        _native.begin_compiled_update(self)
        _native.follow_loop(False, False)

    def end_round(self) -> None:
        """The round has ended, if one is open."""
        if self._is_open:
            self._is_open = False
            _native.end_function(self._stage)
            _native.end_compiled_update(self)

    def drop_round(self) -> None:
        """What is open turned out to be no round."""
        if self._is_open:
            self._is_open = False
            _native.end_function(self._stage)

    def end(self) -> None:
        """The fit has ended, or failed."""
        self.end_round()
        if self.is_ours:
            _native.end_training()
        else:
            _native.pause_steps()
            _native.forget_optimizer(id(self))


def rounds_of(under_way: Callable[[], Rounds | None]) -> Make:
    """Makes a method whose call is one round of those under way; one that fails is none."""

    def begin(args: Any, kwargs: Any) -> Rounds | None:
        rounds = under_way()
        if rounds is not None:
            _begin_round(rounds)
        return rounds

    return around(begin, _end_round, _drop_round)


@safely
def _begin_round(rounds: Rounds) -> None:
    rounds.begin_round()


@safely
def _end_round(rounds: Rounds) -> None:
    rounds.end_round()


@safely
def _drop_round(rounds: Rounds) -> None:
    rounds.drop_round()


__all__ = [
    "Fit",
    "Rounds",
    "after",
    "around",
    "attach",
    "before",
    "caller",
    "enter",
    "exit",
    "hide_frame",
    "register",
    "replace",
    "rounds_of",
    "safely",
    "samples_of",
    "stage_id",
    "within_part",
]
