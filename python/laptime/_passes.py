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


@_guard.safely
def begin_pass(loader: Any) -> Ticket:
    """A pass over a loader begins, and with it the wait for its first batch."""
    training = here.training
    training.loaders[id(loader)] = loader
    return Ticket(_native.begin_pass(loader, training.in_eval_mode()))


@_guard.safely
def keep(iterator: Any, ticket: Ticket | None) -> None:
    """Lets an iterator hold its pass."""
    iterator.__dict__["_laptime_ticket"] = ticket


@_guard.safely
def end_pass(ticket: Ticket) -> None:
    """The data has ended, or the loop was left."""
    _native.end_pass(ticket.pass_id, here.training.in_eval_mode())
