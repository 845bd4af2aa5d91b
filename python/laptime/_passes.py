"""Passes over data that a script iterates itself: what an iterator holds of its pass."""

from __future__ import annotations

import sys
import threading
from typing import Any

from . import _guard, _native
from ._training import here


class Ticket:
    """What an iterator holds of its pass: a loop that is left early drops the iterator, and with it this."""

    __slots__ = ("pass_id", "thread")

    def __init__(self, pass_id: int) -> None:
        self.pass_id = pass_id
        self.thread = threading.get_ident()

    def __del__(self) -> None:
        try:
            if not sys.is_finalizing() and self.thread == threading.get_ident():
                end_pass(self)
        except Exception:  # Python would print what a destructor raises.
            pass


class _Owned(threading.local):
    """Whether this thread is inside a call whose loops over data are a framework's own, and no loops of a script."""

    def __init__(self) -> None:
        self.depth = 0


owned = _Owned()


def enter_owned(args: Any, kwargs: Any) -> bool:
    """A call begins whose loops are a framework's own."""
    owned.depth += 1
    return True


def leave_owned(_: Any) -> None:
    """The call has ended."""
    owned.depth -= 1


class _Lingering(threading.local):
    """The pass of this thread whose data has ended, but whose iterator has still to be taken down."""

    pass_id: int | None = None


_lingering = _Lingering()


@_guard.safely
def begin_pass(loader: Any) -> Ticket:
    """A pass over a loader begins, and with it the wait for its first batch."""
    settle()
    training = here.training
    training.record_loader(loader)
    training.newest_pass = _native.begin_pass(loader, training.in_eval_mode())
    return Ticket(training.newest_pass)


@_guard.safely
def keep(iterator: Any, ticket: Ticket | None) -> None:
    """Lets an iterator hold its pass."""
    # Not through `__dict__`: an object whose dict was looked at is slower for good.
    object.__setattr__(iterator, "_laptime_ticket", ticket)
    if ticket is not None:
        _native.iterate(ticket.pass_id, iterator)


@_guard.safely
def exhaust_pass(ticket: Ticket | None) -> None:
    """The data has ended; a loader that looks ahead has still a batch to hand out."""
    if ticket is not None:
        _native.exhaust_pass(ticket.pass_id, here.training.in_eval_mode())


@_guard.safely
def end_pass(ticket: Ticket | None) -> None:
    """The iterator is gone, or the loop was left."""
    if ticket is not None:
        _native.end_pass(ticket.pass_id, here.training.in_eval_mode())


@_guard.safely
def linger(ticket: Ticket) -> None:
    """The data has ended; the pass does when its iterator is gone, which may take longer than a step.

    Only the number is kept: the ticket must go with its iterator. A script that holds on to the iterator ends
    the pass with whatever it does next.
    """
    _lingering.pass_id = ticket.pass_id
    _native.linger()


def settle() -> None:
    """Something else begins: a pass whose data has ended is over."""
    pass_id, _lingering.pass_id = _lingering.pass_id, None
    if pass_id is not None:
        _native.end_pass(pass_id, here.training.in_eval_mode())
