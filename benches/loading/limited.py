"""A set three times as large as the memory there is: rates with the limit and without, and whether it held."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from cgroup import CannotLimitError, MemoryLimit
from entry import Setting
from loaders_limited import ENTRIES, SOURCES
from page_cache import drop
from printed import (
    Bar,
    number,
    print_bars,
    print_skipped,
    print_table,
    rates,
    ratios,
    spread,
    times,
)
from pythons import Pythons
from rounds import START_S, Conditions, FailedError, Measured, order, prepare, run_one
from sets import warm

MODULE = "loaders_limited"
# How many times as large as the limit the set is.
TIMES = 3
# Of the rate without a limit.
BARS = [Bar("laptime_decoded", "laptime_decoded", 0.7), Bar("laptime_jpeg", "laptime_jpeg", 0.7)]


@dataclass
class Turn:
    """One loader in one of the two states, in one round."""

    key: str
    python: str
    source: Path

    def free(self, conditions: Conditions) -> dict:
        """Without a limit, all of the set in the page cache."""
        warm(self.source)
        return run_one(
            self.python, [MODULE, self.key], conditions, START_S + 2 * conditions.seconds
        )

    def bound(self, conditions: Conditions) -> dict:
        """With the limit. Pages that others had read would not count against it: the set is dropped from the cache."""
        drop(self.source)
        with MemoryLimit(size(self.source) // TIMES) as limit:
            words = [MODULE, self.key, "--cgroup", str(limit.folder)]
            try:
                found = run_one(self.python, words, conditions, START_S + 2 * conditions.seconds)
            except FailedError as error:
                raise FailedError(f"{error}; {limit.killed()} killed for want of memory") from error
            return found | {"limit": limit.limit, "most": limit.peak(), "killed": limit.killed()}


def size(path: Path) -> int:
    """Bytes of a file or of all files of a folder."""
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def measure(setting: Setting, conditions: Conditions, rounds: int) -> None:
    """All rounds, and the table."""
    try:
        with MemoryLimit(1 << 30):
            pass
    except CannotLimitError as error:
        print(f"\nskipped: memory: no limit can be set here: {error}")
        return
    free, bound = _measured(setting, conditions, rounds)
    _show(free, bound)


def _measured(setting: Setting, conditions: Conditions, rounds: int) -> tuple[Measured, Measured]:
    entries = ENTRIES.known
    pythons = Pythons(list(entries.values()))
    found = {key: (entry, pythons.of(entry)) for key, entry in entries.items()}
    installed = {key: (entry, python) for key, (entry, python) in found.items() if python}
    free, bound = prepare(MODULE, installed, conditions), Measured()
    for key in entries.keys() - installed.keys():
        free.drop(key, f"not installed: {', '.join(pythons.missing(entries[key]))}")
    turns = {
        key: Turn(key, installed[key][1], SOURCES[key](setting))
        for key in installed
        if key not in free.skipped
    }
    for number_of_round in range(rounds):
        states = [f"{state} {key}" for key in turns for state in ("free", "bound")]
        for drawn in order(states, number_of_round):
            state, key = drawn.split()
            measured = free if state == "free" else bound
            if key not in measured.skipped:
                _measure_one(measured, state, turns[key], conditions)
    return free, bound


def _measure_one(measured: Measured, state: str, turn: Turn, conditions: Conditions) -> None:
    try:
        found = getattr(turn, state)(conditions)
    except FailedError as error:
        measured.drop(turn.key, f"failed: {error}")
    else:
        measured.results.setdefault(turn.key, []).append(found)


def _show(free: Measured, bound: Measured) -> None:
    header = [
        "loader",
        "images/s, in memory",
        "images/s, limited",
        "of it",
        "limit MB",
        "most MB",
        "peak RSS MB",
    ]
    lines = [
        _line(key, free, bound) for key in ENTRIES.known if rates(free, key) or rates(bound, key)
    ]
    title = f"memory: images, {TIMES} × as large as the limit on memory, page cache included"
    print_table(title, [*header, "read MB/s"], lines)
    for measured in (free, bound):
        print_skipped(ENTRIES.known, measured)
    both = Measured(
        {**{f"free {key}": value for key, value in free.results.items()}, **bound.results}
    )
    names = {**ENTRIES.known, **{f"free {key}": entry for key, entry in ENTRIES.known.items()}}
    print_bars(names, both, [Bar(bar.reference, f"free {bar.peer}", bar.factor) for bar in BARS])


def _line(key: str, free: Measured, bound: Measured) -> list[str]:
    results = bound.results.get(key, [])
    both = Measured({"free": free.results.get(key, []), "bound": results})
    share = ratios(both, "bound", "free")
    cells = [
        spread(rates(measured, key)) if rates(measured, key) else "–" for measured in (free, bound)
    ]
    return [
        ENTRIES.known[key].name,
        *cells,
        spread(share, times) if share else "–",
        number(results[0]["limit"] / 1e6) if results else "–",
        number(max((result["most"] or 0) for result in results) / 1e6) if results else "–",
        number(median(result["peak_mb"] for result in results)) if results else "–",
        number(median(result["read_mb_s"] for result in results)) if results else "–",
    ]
