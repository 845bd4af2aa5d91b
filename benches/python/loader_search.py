"""The loader search beside an exhaustive one: `python benches/python/loader_search.py [LOADER ...]`.

For each of three loaders (`loaders.py`) every number of workers up to 4 a CPU, with prefetch_factor 2, 4 and 8, is
measured until its rate is known to 3 %, for 3 s at most: what the search does for the settings it measures in full.
Then `laptime advise --loader` chooses. What it chose and the best of all are measured again in turns, since the best
of many noisy numbers is partly luck. Bars: at most 5 % slower than the best, in at most 30 % of the time.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import loaders

HERE = Path(__file__).parent
TRIAL = HERE.parent.parent / "python" / "laptime" / "torch" / "loader_trial.py"
PREFETCHES = (2, 4, 8)
PRECISION, SHORTEST_S, LONGEST_S = 0.03, 0.4, 3.0
# Pairs of the choice and the best, and seconds of each of their measurements.
PAIRS, PAIR_S = 7, 1.5


class Measurer:
    """A Python that measures one loader."""

    def __init__(self, loader: str) -> None:
        words = [sys.executable, str(TRIAL), f"{HERE / 'loaders.py'}:{loader}"]
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.read()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        message = json.loads(self.process.stdout.readline())
        assert message["kind"] != "error", message
        return message

    def say(self, **request: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def rate(self, workers: int, prefetch: int | None, seconds: float | None = None) -> float:
        """Samples a second: for so long, or until they are known well enough."""
        self.say(
            kind="try", workers=workers, prefetch=prefetch, pin=False, seconds=seconds or LONGEST_S
        )
        batches: list[tuple[float, int]] = []
        stopped = False
        while (message := self.read())["kind"] != "end":
            batches += [(gap, samples) for gap, samples in message.get("batches", ())]
            if not stopped and seconds is None and is_precise(batches, max(workers, 1)):
                stopped = True
                self.say(kind="stop")
        whole = len(batches) // max(workers, 1) * max(workers, 1)
        return rate_of(batches[: whole or None])

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def rate_of(batches: list[tuple[float, int]]) -> float:
    return sum(samples for _, samples in batches) / sum(gap for gap, _ in batches)


def is_precise(batches: list[tuple[float, int]], together: int) -> bool:
    """The rule of the search: at most 20 groups of whole rounds of the workers, at least 5."""
    if sum(gap for gap, _ in batches) < SHORTEST_S:
        return False
    size = max(-(-(len(batches) // together) // 20), 1) * together
    groups = [batches[at : at + size] for at in range(0, len(batches) - size + 1, size)]
    if len(groups) < 5:
        return False
    rates = [rate_of(group) for group in groups]
    # Student's t of a 95 % interval for 4 to 19 degrees of freedom, from above.
    width = 2.1 if len(rates) > 15 else 2.8
    return width * statistics.stdev(rates) / len(rates) ** 0.5 / statistics.mean(rates) <= PRECISION


def exhaustive(loader: str) -> tuple[dict[tuple[int, int | None], float], float]:
    """The rate of every setting, and how long it all took."""
    began = time.perf_counter()
    measurer = Measurer(loader)
    rates: dict[tuple[int, int | None], float] = {(0, None): measurer.rate(0, None)}
    for workers in range(1, 4 * len(os.sched_getaffinity(0)) + 1):
        for prefetch in PREFETCHES:
            rates[workers, prefetch] = measurer.rate(workers, prefetch)
    measurer.end()
    return rates, time.perf_counter() - began


def searched(loader: str) -> tuple[dict[str, Any], float]:
    began = time.perf_counter()
    words = [
        sys.executable,
        "-m",
        "laptime",
        "advise",
        "--json",
        "--loader",
        f"{HERE / 'loaders.py'}:{loader}",
    ]
    # Runs that lie here say nothing of what these loaders feed.
    done = subprocess.run(
        [*words, "--dir", "/nonexistent"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout), time.perf_counter() - began


def in_turns(
    loader: str, one: tuple[int, int | None], other: tuple[int, int | None]
) -> list[float]:
    """Both rates, medians of measurements in turns."""
    if one == other:
        return [1.0, 1.0]
    measurer = Measurer(loader)
    rates: tuple[list[float], list[float]] = ([], [])
    for turn in range(PAIRS):
        # Whoever goes first changes from pair to pair.
        for which in (0, 1) if turn % 2 else (1, 0):
            rates[which].append(measurer.rate(*(one, other)[which], seconds=PAIR_S))
    measurer.end()
    return [statistics.median(of_one) for of_one in rates]


def words(setting: tuple[int, int | None]) -> str:
    workers, prefetch = setting
    return f"{workers} workers" + (f", {prefetch}" if prefetch else "")


def main() -> None:
    loaders.write_pictures()
    print(
        f"{'':10} {'best of all':>14} {'rate':>9}  {'choice':>14} {'rate':>9} {'gap':>7}  {'time of it':>20}"
    )
    for loader in sys.argv[1:] or ["decoded", "remote", "in_memory"]:
        rates, all_s = exhaustive(loader)
        best = max(rates, key=lambda setting: rates[setting])
        document, search_s = searched(loader)
        setting = document["choice"]["point"]["setting"]
        choice = (setting["workers"], setting["prefetch"])
        best_rate, choice_rate = in_turns(loader, best, choice)
        if best == choice:
            best_rate = choice_rate = rates[best]
        times = f"{search_s:.1f} of {all_s:.1f} s: {search_s / all_s:.0%}"
        print(
            f"{loader:10} {words(best):>14} {best_rate:>9,.0f}  {words(choice):>14} {choice_rate:>9,.0f}"
            f" {1 - choice_rate / best_rate:>7.1%}  {times:>20}"
            f"   ({len(document['trials'])} of {len(rates)} measurements)",
            flush=True,
        )


if __name__ == "__main__":
    main()
