"""What recording costs in a real small PyTorch step: `python benches/python/torch_step.py [PAIRS [STEPS]]`.

Every way to measure has a training process of its own, as its users would start it, so that nothing is
patched back and forth: zero-code hooks under `laptime run` and traceml-ai under `traceml run` beside the
bare step; a `with` around each of its five parts beside an empty one. What is not installed is left out.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

from turns import take_turns

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 8
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 500
TURNS = 6
WORKER = str(Path(__file__).with_name("torch_worker.py"))
SPANS = 5


@dataclass
class Way:
    """One way to measure a training, and the one it is held against."""

    name: str
    beside: str | None
    parts: int = 1
    span: str | None = None
    launcher: tuple[str, ...] = ()
    package: str | None = None
    # The least wall and CPU time of a step in each pair, us.
    least: list[tuple[float, float]] = field(default_factory=list)

    def is_installed(self) -> bool:
        return self.package is None or importlib.util.find_spec(self.package) is not None

    def command(self, port: int) -> list[str]:
        worker = [WORKER, str(port), self.name, str(STEPS), *filter(None, [self.span])]
        if self.package == "traceml_ai":
            # Its launcher starts the interpreter itself.
            return [*self.launcher, worker[0], "--args", *worker[1:]]
        return [*self.launcher, sys.executable, *worker]


def ways() -> list[Way]:
    beside_python = Path(sys.executable).parent
    laptime = (str(beside_python / "laptime"), "run", "--quiet", "--")
    traceml = (str(beside_python / "traceml"), "run")
    known = [
        Way("bare step", None),
        Way("laptime run, zero code", "bare step", launcher=laptime),
        Way("traceml-ai", "bare step", span="traceml", launcher=traceml, package="traceml_ai"),
        Way("empty with", None, span="empty"),
        Way("with laptime.stage", "empty with", SPANS, "stage"),
        Way("record_function, profiler off", "empty with", SPANS, "record_function"),
        Way("Lightning SimpleProfiler", "empty with", SPANS, "lightning", package="lightning"),
    ]
    return [way for way in known if way.is_installed()]


def main() -> None:
    compared = ways()
    for _ in range(PAIRS):
        found = take_turns({way.name: way.command for way in compared}, TURNS)
        for way in compared:
            way.least.append(found[way.name])
    show(compared)


def show(compared: list[Way]) -> None:
    print(
        f"python {sys.version.split()[0]}, 1 thread, {PAIRS} pairs of {TURNS} turns of {STEPS} steps; "
        "wall time, in brackets CPU time"
    )
    print(f"{'':30}  {'least':>9}   more than what it stands beside: least, median of pairs")
    by_name = {way.name: way for way in compared}
    for way in compared:
        line = f"{way.name:30}  {least(way, 0):6.1f} us"
        if way.beside is not None:
            other = by_name[way.beside]
            unit = "a step" if way.parts == 1 else "a span"
            shown = [
                f"{more:6.2f} ({more_cpu:6.2f})"
                for more, more_cpu in (
                    [(least(way, clock) - least(other, clock)) / way.parts for clock in (0, 1)],
                    [median_more(way, other, clock) for clock in (0, 1)],
                )
            ]
            line += f"   {shown[0]} us, {shown[1]} us {unit}"
        print(line)


def least(way: Way, clock: int) -> float:
    return min(pair[clock] for pair in way.least)


def median_more(way: Way, other: Way, clock: int) -> float:
    pairs = zip(way.least, other.least, strict=True)
    return statistics.median(ours[clock] - theirs[clock] for ours, theirs in pairs) / way.parts


if __name__ == "__main__":
    main()
