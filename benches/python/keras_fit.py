"""What recording costs in a Keras `fit`: `python benches/python/keras_fit.py [PAIRS [STEPS]]`.

Steps take about 1 ms. Every way to measure has a training process of its own, as its users would start it:
zero-code hooks under `laptime run`, Keras' own TensorBoard callback, and the profiler behind that, beside
the bare fit.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

from turns import take_turns

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 8
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 500
TURNS = 6
WORKER = str(Path(__file__).with_name("keras_worker.py"))
BAR = 1.0


@dataclass
class Way:
    """One way to measure a training."""

    name: str
    kind: tuple[str, ...] = ()
    launcher: tuple[str, ...] = ()
    # The least wall and CPU time of a step in each pair, us.
    least: list[tuple[float, float]] = field(default_factory=list)

    def command(self, port: int) -> list[str]:
        return [
            *self.launcher,
            sys.executable,
            WORKER,
            str(port),
            self.name,
            str(STEPS),
            *self.kind,
        ]


def main() -> None:
    laptime = str(Path(sys.executable).parent / "laptime")
    ways = [
        Way("bare fit"),
        Way("laptime run, zero code", launcher=(laptime, "run", "--quiet", "--")),
        Way("TensorBoard callback", ("tensorboard",)),
        Way("TensorBoard profiler", ("profiler",)),
    ]
    for pair in range(PAIRS):
        # Whoever comes first in one pair comes last in the next.
        order = ways if pair % 2 == 0 else ways[::-1]
        found = take_turns({way.name: way.command for way in order}, TURNS)
        for way in ways:
            way.least.append(found[way.name])
    show(ways)


def show(ways: list[Way]) -> None:
    print(
        f"python {sys.version.split()[0]}, 1 thread, {PAIRS} pairs of {TURNS} turns of {STEPS} steps; "
        "wall time, in brackets CPU time"
    )
    print(f"{'':24}  {'least':>9}   more than the bare fit: median of pairs")
    bare = ways[0]
    for way in ways:
        line = f"{way.name:24}  {min(wall for wall, _ in way.least):6.0f} us"
        if way is not bare:
            (wall, wall_share), (cpu, cpu_share) = (more(way, bare, clock) for clock in (0, 1))
            line += f"   {wall:7.1f} us {wall_share:6.2f} %  ({cpu:7.1f} us {cpu_share:6.2f} %)"
        print(line)
    share = more(ways[1], bare, 0)[1]
    print(f"bar: at most {BAR} % more; found {share:.2f} %: {'met' if share <= BAR else 'MISSED'}")


def more(way: Way, bare: Way, clock: int) -> tuple[float, float]:
    """Time a step takes more, us and per cent."""
    pairs = list(zip(way.least, bare.least, strict=True))
    absolute = statistics.median(ours[clock] - theirs[clock] for ours, theirs in pairs)
    share = statistics.median(ours[clock] / theirs[clock] - 1 for ours, theirs in pairs)
    return absolute, share * 100


if __name__ == "__main__":
    main()
