"""Sampling: which steps of a training the layers of its model are timed on.

The first steps of a model warm up; then three are sampled, and after them as many as cost less than 1 % of the time.
"""

from __future__ import annotations

import os
import time

from . import _native

now = time.perf_counter_ns

# Steps of a model that are not sampled at first, and how many are then in a row.
_WARM_UP = 2
_FIRST_SAMPLES = 3
# Samples that are taken at any cost: a short training has no others.
_MOST_FREE = 4 * _FIRST_SAMPLES
# What sampling may cost of the time: at first, and from then on.
_FIRST_BUDGET = 0.05
_BUDGET = 0.01

TOO_SHORT = "the training ended before a step could be sampled"


def is_asked() -> bool:
    """Whether `laptime run --layers` asks for the times of layers."""
    return bool(_native.switched(os.environ.get("LAPTIME_LAYERS", "0")))


class Steps:
    """The steps of one model: all of them, and those that were sampled."""

    __slots__ = ("seen", "taken")

    def __init__(self) -> None:
        self.seen = 0
        self.taken = 0


class Schedule:
    """Decides which steps are worth what sampling them costs, nanoseconds."""

    __slots__ = ("began", "cost", "taken")

    def __init__(self) -> None:
        self.began = 0
        self.taken = 0
        self.cost = 0

    def wants(self, steps: Steps) -> bool:
        """Whether the step that begins is to be sampled."""
        steps.seen += 1
        if steps.seen <= _WARM_UP:
            return False
        first = steps.taken < _FIRST_SAMPLES
        if first and self.taken < _MOST_FREE:
            return True
        return self.cost < (now() - self.began) * (_FIRST_BUDGET if first else _BUDGET)

    def take(self, steps: Steps) -> None:
        """The step that begins is sampled."""
        self.began = self.began or now()
        self.taken += 1
        steps.taken += 1
