"""What others would have said at a moment of a training, replayed with the times at which its steps ended.

tqdm and Keras are the installed packages, given a clock of ours. Each returns the seconds left, or `None` where it
has nothing to say yet. Bars of an epoch (Keras, Lightning) say nothing of the whole: the epochs to come are counted at
their rate for this one.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np
from scipy.optimize import nnls


@dataclass(frozen=True)
class Seen:
    """A training as it was at a moment."""

    steps: list[float]  # when each of the steps so far ended, seconds since the command began
    epochs: list[int]  # steps that were done when each of the epochs so far ended
    planned: int  # steps in all
    per_epoch: int | None  # steps of an epoch
    now: float  # seconds since the command began

    @property
    def left(self) -> int:
        return self.planned - len(self.steps)


def mean_so_far(seen: Seen) -> float | None:
    """Time so far over steps so far, for every step to come: what most scripts print."""
    return seen.left * seen.now / len(seen.steps) if seen.steps else None


def mean_step(seen: Seen) -> float | None:
    """The mean between the ends of steps, for every step to come."""
    return seen.left * float(np.mean(np.diff(seen.steps))) if len(seen.steps) > 1 else None


def median_step(seen: Seen) -> float | None:
    """The median between the ends of steps, for every step to come."""
    return seen.left * median(np.diff(seen.steps)) if len(seen.steps) > 1 else None


def tqdm_steps(seen: Seen) -> float | None:
    """A bar over all steps, made when the first begins."""
    if len(seen.steps) < 2:
        return None
    return _tqdm(seen.steps, seen.planned, seen.steps[0])


def tqdm_epochs(seen: Seen) -> float | None:
    """A bar over the epochs: `for epoch in tqdm(range(epochs))`."""
    if not seen.epochs or not seen.per_epoch:
        return None
    ends = [seen.steps[done - 1] for done in seen.epochs]
    left = _tqdm(ends, seen.planned // seen.per_epoch, seen.steps[0])
    return None if left is None else max(left - (seen.now - ends[-1]), 0.0)


def lightning(seen: Seen) -> float | None:
    """Lightning's bar is tqdm's, made anew for every epoch."""
    steps, of_epoch, later = _this_epoch(seen)
    if len(steps) < 2:
        return None
    left = _tqdm(steps, of_epoch, steps[0])
    if left is None or of_epoch == len(steps):
        return None
    return left + later * left / (of_epoch - len(steps))


def keras(seen: Seen) -> float | None:
    """Keras' bar of an epoch: the mean since its first step ended."""
    from keras.utils import Progbar

    steps, of_epoch, later = _this_epoch(seen)
    if len(steps) < 2:
        return None
    bar = Progbar(of_epoch, verbose=0)
    bar._start = bar._time_at_epoch_start = steps[0]
    for at, end in enumerate(steps, 1):
        each = bar._estimate_step_duration(at, end)
    return each * (of_epoch - len(steps) + later)


def ernest(seen: Seen) -> float | None:
    """Ernest (NSDI 2016) on one machine: non-negative a + b·log n + c·n through the times of prefixes."""
    if len(seen.steps) < 10:
        return None
    counts = np.unique(np.linspace(1, len(seen.steps), 20).astype(int))

    def features(count: np.ndarray) -> np.ndarray:
        return np.stack([np.ones(len(count)), np.log(count), count], axis=1)

    weights, _ = nnls(features(counts), np.array([seen.steps[count - 1] for count in counts]))
    total = (features(np.array([seen.planned])) @ weights)[0]
    return max(float(total) - seen.now, 0.0)


PEERS: dict[str, Callable[[Seen], float | None]] = {
    "mean so far": mean_so_far,
    "mean step": mean_step,
    "median step": median_step,
    "tqdm, steps": tqdm_steps,
    "tqdm, epochs": tqdm_epochs,
    "Keras": keras,
    "Lightning": lightning,
    "Ernest": ernest,
}


def _this_epoch(seen: Seen) -> tuple[list[float], int, int]:
    """Ends of its steps, how many it has, and the steps of all later epochs."""
    done = seen.epochs[-1] if seen.epochs else 0
    if done == len(seen.steps) and len(seen.epochs) > 1:
        done = seen.epochs[-2]  # The bar of the last epoch stands until the next begins.
    of_epoch = seen.per_epoch or seen.planned
    return seen.steps[done:], of_epoch, seen.planned - done - of_epoch


def _tqdm(ends: list[float], total: int, began: float) -> float | None:
    """What tqdm shows after these ends, by its own code and a clock that is ours."""
    from tqdm import std

    clock = [began]
    real, std.time, std.tqdm.monitor_interval = std.time, lambda: clock[0], 0
    try:
        bar = std.tqdm(total=total, file=io.StringIO())
        for end in ends:
            clock[0] = end
            bar.update()
        shown = bar.format_dict
        rate = shown["rate"] or shown["n"] / max(shown["elapsed"], 1e-9)
        return (total - shown["n"]) / rate if rate else None
    finally:
        std.time = real
