"""The plan of a training: how many epochs or steps there will be, and where that is known from.

It is in what the loop runs over (`range(args.epochs)`), in the condition that ends it (`while step < max_steps`)
or in a variable with a name such as `max_steps`. Nothing of the user's code is run to find out, and what is not sure
is `None`. Where the loop may be left before, as by an early stop, the source says `at most`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from .. import _loops
from .._loops import Loop, Place
from .names import EPOCH_NAMES, STEP_NAMES, by_name
from .running import Running, guards, known_ops
from .turns import AT_MOST, Found, at_most, by_condition, count_turns, counter_name, limits_of

# A turn of such a loop is a move in an environment, which need not be an update.
_NOT_STEPS = ("timestep", "time_step", "frame", "episode", "env")


@dataclass(frozen=True, slots=True)
class Plan:
    """How many epochs or steps a fit will have, and the code that says so."""

    epochs: int | None
    steps: int | None
    source: str


def of_epochs(
    frame: FrameType | None, place: Place | None, around_creation: frozenset[Any] = frozenset()
) -> Plan | None:
    """How many epochs the loop around this frame will make.

    `place` is the epoch loop where that is known; else the loop around the innermost one is taken for it,
    unless it encloses the creation of the optimizer (`around_creation`) and so repeats whole trainings.
    """
    found = _quietly(
        lambda: _epochs_by_loop(frame, place, around_creation) or by_name(frame, EPOCH_NAMES)
    )
    if found is None or found[1].startswith(AT_MOST):
        # The steps may be counted, and end it in the middle of an epoch.
        steps = _quietly(lambda: _counted_steps(frame, around_creation))
        if steps is not None and not steps[1].startswith(AT_MOST):
            return Plan(None, steps[0], steps[1])
    return None if found is None else Plan(found[0], None, found[1])


def of_steps(frame: FrameType | None, around_creation: frozenset[Any] = frozenset()) -> Plan | None:
    """How many steps the loop around this frame will make, in a training without epochs."""
    found = _quietly(lambda: _steps(frame, _outside(frame, around_creation)))
    return None if found is None else Plan(None, found[0], found[1])


def with_prefix(prefix: str, source: str) -> str:
    """A source with something before it; what says that it is a bound stays in front."""
    bare = source.removeprefix(AT_MOST)
    return source[: len(source) - len(bare)] + prefix + bare


def _quietly(look: Callable[[], Found | None]) -> Found | None:
    try:
        return look()
    except Exception:  # Whatever the program looks like, it comes first.
        return None


def forget() -> None:
    """Lets go of the code that was looked at."""
    known_ops.clear()


def _outside(
    frame: FrameType | None, around_creation: frozenset[Any]
) -> list[tuple[FrameType, Loop]]:
    """The loops around a frame from the innermost, without those that repeat whole trainings."""
    loops = [(at, loop) for _, at, loop in _loops.enclosing(frame)]
    repeated = [found for found in loops if _loops.identity(*found) not in around_creation]
    # A long `for` loop is found once more as a `while` loop around it.
    return [found for found in repeated if found[1].variable or not Running(*found).is_for_loop]


# Epochs.


def _epochs_by_loop(
    frame: FrameType | None, place: Place | None, around_creation: frozenset[Any]
) -> Found | None:
    if place is not None:
        at = _frame_of(frame, place)
        return None if at is None else _turns(Running(at, place.loop))
    for at, loop in _epoch_candidates(frame, around_creation):
        if (found := _turns(Running(at, loop))) is not None:
            return found
    return None


def _turns(running: Running) -> Found | None:
    """How many turns a loop makes: what it runs over, else the condition on its epochs that ends it."""
    if running.loop.variable is not None and (found := count_turns(running)) is not None:
        return at_most(found) if _passes_by(running) else found
    own = running.loop.variable or ""
    limits = [
        limit
        for limit in limits_of(running)
        if counter_name(limit.counter) == own
        or _loops._EPOCH_NAME.search(counter_name(limit.counter))
    ]
    return by_condition(limits, running, running)


def _passes_by(running: Running) -> bool:
    """Whether a turn of an epoch loop may train nothing, as one that was made before a resume."""
    inside = [
        loop
        for loop in _loops.loops_of(running.frame.f_code)
        if loop.encloses(running.here)
        and running.loop.encloses(loop.start)
        and loop != running.loop
    ]
    if not inside:
        return bool(guards(running, running.here))
    # Whether the turn comes to the loop over the batches; what is done with each is no matter here.
    begin = running.index_at(min(loop.start for loop in inside)) - 1
    return bool(guards(running, running.ops[begin].offset))


def _frame_of(frame: FrameType | None, place: Place) -> FrameType | None:
    """The frame that runs the loop of a place: this one or a caller."""
    for _ in range(_loops.MOST_FRAMES):
        if frame is None:
            return None
        if frame.f_code is place.code and place.loop.encloses(frame.f_lasti):
            return frame
        frame = frame.f_back
    return None


def _epoch_candidates(
    frame: FrameType | None, around_creation: frozenset[Any]
) -> list[tuple[FrameType, Loop]]:
    named = [(at, loop) for _, at, loop in _loops.enclosing(frame) if loop.counts_epochs]
    return named[:1] or _outside(frame, around_creation)[1:2]


# Steps.


def _steps(frame: FrameType | None, loops: list[tuple[FrameType, Loop]]) -> Found | None:
    if frame is None:
        return None
    found = _steps_by_loop(frame, loops) if loops else by_name(frame, STEP_NAMES)
    is_other = found is not None and any(word in found[1].lower() for word in _NOT_STEPS)
    return None if is_other else found


def _counted_steps(frame: FrameType | None, around_creation: frozenset[Any]) -> Found | None:
    """How many steps there are until a condition on their number ends the training."""
    loops = _outside(frame, around_creation)
    if frame is None or not loops or not _calls_always(Running(*loops[0]), frame):
        return None
    return _by_counter(loops)


def _by_counter(loops: list[tuple[FrameType, Loop]]) -> Found | None:
    """The condition on a counter that ends the loops of the innermost frame."""
    inner = Running(*loops[0])
    beside = [Running(at, loop) for at, loop in loops if at is inner.frame]
    limits = (limit for running in beside for limit in limits_of(running))
    return by_condition(limits, inner, beside[-1])


def _steps_by_loop(frame: FrameType, loops: list[tuple[FrameType, Loop]]) -> Found | None:
    inner = Running(*loops[0])
    if not _calls_always(inner, frame):
        return None
    found = _by_counter(loops)
    # With loops in loops a name may count the turns of another one, and not every turn need be a step.
    if found is not None or len(loops) > 1 or guards(inner, inner.here):
        return found
    counted = count_turns(inner) if inner.loop.variable is not None else None
    return counted or by_name(frame, STEP_NAMES)


def _calls_always(running: Running, frame: FrameType) -> bool:
    """Whether the functions that a loop's turn called always come to this frame's call."""
    at: FrameType | None = frame
    while at is not None and at is not running.frame:
        if not _loops.is_foreign(at) and guards(Running(at, None), at.f_lasti):
            return False
        at = at.f_back
    return at is not None
