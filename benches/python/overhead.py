"""What recording costs in Python, beside what people would write by hand.

Everything is measured in one process, in rounds that take turns, so that a busy machine hits all alike.
The cost of the empty loop, or of the plain call, is subtracted. The table shows the ratio of the least times
over all rounds, and the median of the rounds' own ratios.

    python benches/python/overhead.py [--rounds 41] [--loops 1500]
"""

from __future__ import annotations

import argparse
import functools
import statistics
import tempfile
import time
from collections.abc import Callable
from time import perf_counter

Body = Callable[[int], float]


def with_stage(loops: int) -> float:
    stage = laptime.stage("bench with")
    began = perf_counter()
    for _ in range(loops):
        with stage:
            pass
    return perf_counter() - began


class EmptyContext:
    """The least a context manager written in Python costs."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        pass


def with_class(loops: int) -> float:
    context = EmptyContext()
    began = perf_counter()
    for _ in range(loops):
        with context:
            pass
    return perf_counter() - began


def plain() -> None:
    pass


def wrapped(function: Callable[[], None]) -> Callable[[], None]:
    """The least a decorator written in Python costs."""

    @functools.wraps(function)
    def wrapper(*arguments: object, **named: object) -> None:
        return function(*arguments, **named)

    return wrapper


def call(function: Callable[[], None]) -> Body:
    def body(loops: int) -> float:
        began = perf_counter()
        for _ in range(loops):
            function()
        return perf_counter() - began

    return body


def perf_counter_pair(loops: int) -> float:
    began = perf_counter()
    for _ in range(loops):
        start = perf_counter()
        _ = perf_counter() - start
    return perf_counter() - began


def empty_loop(loops: int) -> float:
    began = perf_counter()
    for _ in range(loops):
        pass
    return perf_counter() - began


def batches(loops: int) -> float:
    taken = 0.0
    for _ in laptime.epochs(1):
        began = perf_counter()
        for _ in laptime.batches(range(loops)):
            pass
        taken = perf_counter() - began
    return taken


def laps(loops: int) -> float:
    lap = laptime.lap
    began = perf_counter()
    for _ in range(loops):
        lap("bench lap")
    return perf_counter() - began


def rounds(bodies: dict[str, Body], count: int, loops: int) -> dict[str, list[float]]:
    """Nanoseconds of one turn for each body and round; the rounds of all bodies take turns."""
    times: dict[str, list[float]] = {name: [] for name in bodies}
    for _ in range(count):
        for name, body in bodies.items():
            times[name].append(body(loops) / loops * 1e9)
            # The flusher drains between two rounds, so that no ring is full within one.
            time.sleep(0.12)
    return times


COMPARED = [
    # ours, theirs, what is subtracted from both, bar
    ("with stage", "with class", "empty loop", 0.5),
    ("@stage", "@wrapper", "plain call", 0.5),
    ("batches", "perf_counter pair", "empty loop", 0.3),
    ("lap", "perf_counter pair", "empty loop", 0.3),
]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=41)
    arguments.add_argument("--loops", type=int, default=1500)
    asked = arguments.parse_args()
    bodies: dict[str, Body] = {
        "with stage": with_stage,
        "with class": with_class,
        "@stage": call(laptime.stage("bench decorator")(plain)),
        "@wrapper": call(wrapped(plain)),
        "plain call": call(plain),
        "batches": batches,
        "lap": laps,
        "perf_counter pair": perf_counter_pair,
        "empty loop": empty_loop,
    }
    laptime.lap("bench lap")
    rounds(bodies, 2, asked.loops)
    times = rounds(bodies, asked.rounds, asked.loops)
    print(f"{'form':<12}{'net ns':>9}   {'beside':<18}{'net ns':>9}   of least  median   bar")
    for ours, theirs, base, bar in COMPARED:
        net = [a - c for a, c in zip(times[ours], times[base], strict=True)]
        beside = [b - c for b, c in zip(times[theirs], times[base], strict=True)]
        middle = statistics.median(a / b for a, b in zip(net, beside, strict=True))
        least = [min(times[name]) - min(times[base]) for name in (ours, theirs)]
        print(
            f"{ours:<12}{least[0]:>9.1f}   {theirs:<18}{least[1]:>9.1f}   "
            f"{least[0] / least[1]:>8.2f}  {middle:>6.2f}   {bar}"
        )


if __name__ == "__main__":
    import laptime

    with tempfile.TemporaryDirectory() as folder:
        laptime.init(dir=folder, quiet=True)
        main()
        dropped = laptime.finish() and laptime.load(dir=folder).to_dict()["warnings"]
        print(f"warnings of the run: {dropped}")
