"""Tables as text: medians with the least and the most of the rounds, and ratios of rounds."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from entry import Entry
from rounds import Measured


@dataclass(frozen=True)
class Bar:
    """What must be reached: `reference` at least `factor` times as fast as `peer`."""

    reference: str
    peer: str
    factor: float


def number(value: float) -> str:
    """Three digits: `1.23 M`, `45.6 k`, `789`."""
    for scale, letter in ((1e6, " M"), (1e3, " k")):
        if value >= scale:
            return f"{value / scale:.3g}{letter}"
    return f"{value:.3g}"


def spread(values: list[float], text=number) -> str:
    """The median, with the least and the most where there are several."""
    if len(values) == 1:
        return text(values[0])
    return f"{text(median(values))} ({text(min(values))}–{text(max(values))})"


def times(value: float) -> str:
    return f"{value:.2f}×" if value < 10 else f"{value:.3g}×"


def rates(measured: Measured, key: str) -> list[float]:
    return [result["rate"] for result in measured.results.get(key, [])]


def ratios(measured: Measured, reference: str, peer: str) -> list[float]:
    """How many times as fast as the peer, round by round: what slowed a whole round down slowed both."""
    return [
        ours / theirs for ours, theirs in zip(rates(measured, reference), rates(measured, peer))
    ]


def print_table(title: str, header: list[str], lines: list[list[str]]) -> None:
    """A table in Markdown."""
    print(f"\n## {title}\n")
    widths = [max(len(cell) for cell in column) for column in zip(header, *lines)]
    cells = [header, ["-" * width for width in widths], *lines]
    for line in cells:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |")


def print_skipped(entries: dict[str, Entry], measured: Measured) -> None:
    """A plain line for each that has no numbers."""
    if measured.skipped:
        print()
    for key, why in measured.skipped.items():
        print(f"skipped: {entries[key].name}: {why}")


def print_bars(entries: dict[str, Entry], measured: Measured, bars: list[Bar]) -> None:
    """Each bar with what was reached."""
    print()
    for bar in bars:
        if bar.reference not in entries or bar.peer not in entries:
            continue
        names = f"{entries[bar.reference].name} against {entries[bar.peer].name}"
        found = ratios(measured, bar.reference, bar.peer)
        if not found:
            print(f"bar ≥ {bar.factor:g}×: not measured: {names}")
            continue
        verdict = "reached" if median(found) >= bar.factor else "MISSED"
        print(f"bar ≥ {bar.factor:g}×: {verdict}, {spread(found, times)}: {names}")
