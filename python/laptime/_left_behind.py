"""Trainings that the script has left behind: nothing says that a loop ends, but what follows is outside it."""

from __future__ import annotations

from types import FrameType

from . import _loops, _native, _training


def loops_around(frame: FrameType | None) -> frozenset[object]:
    """The loops that a frame stands in, told apart for as long as they run."""
    return frozenset(_loops.identity(at, loop) for _, at, loop in _loops.enclosing(frame))


def end_unless_around(frame: FrameType | None) -> None:
    """Ends the training under way, unless the frame stands in one of its loops."""
    training = _training.here.training
    if _native.in_training() and not loops_around(frame) & training.fit_loops:
        training.end_fit()
