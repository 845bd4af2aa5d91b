"""What taking a GPU's times costs: `python benches/gpu/cost.py [PAIRS [WAY ...]]`, on a machine that has one.

Every way to measure has a process of its own, and they take turns: a bare ResNet-18 of batch 8, whose steps wait
for launches, and a small model with steps of about 1 ms, beside the same under `laptime run`, torch.profiler, a
synchronize in each step, and traceml-ai where it is installed.
"""

from __future__ import annotations

import importlib.util
import shutil
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

from turns import take_turns

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
TURNS = 8
WORKER = str(Path(__file__).with_name("cost_worker.py"))
LAPTIME = (sys.executable, "-m", "laptime", "run", "--quiet", "--")


def command(name: str, model: str, way: str):
    launcher = LAPTIME if way == "laptime" else ()
    if way == "traceml":
        traceml = shutil.which("traceml") or "traceml"
        return lambda port: [traceml, "run", WORKER, "--args", str(port), name, model, way]
    return lambda port: [*launcher, sys.executable, WORKER, str(port), name, model, way]


def known_ways() -> list[str]:
    traceml = ["traceml"] if importlib.util.find_spec("traceml_ai") is not None else []
    return ["laptime", "synchronize", "profiler", *traceml]


def main() -> None:
    ways = ["bare", *(sys.argv[2:] or known_ways())]
    print(
        f"{PAIRS} pairs of {TURNS} turns; least wall time of a step, us; ratio to bare: of the least, median of pairs (range)"
    )
    for model in ("resnet18", "small"):
        least: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(PAIRS):
            found = take_turns({way: command(way, model, way) for way in ways}, TURNS)
            for way in ways:
                least[way].append(found[way][0])
        for way in ways:
            ratios = [own / bare for own, bare in zip(least[way], least["bare"], strict=True)]
            more = statistics.median(
                own - bare for own, bare in zip(least[way], least["bare"], strict=True)
            )
            print(
                f"{model:10} {way:12} {min(least[way]):9.1f}   "
                f"{min(least[way]) / min(least['bare']):.4f}   {statistics.median(ratios):.4f} "
                f"({min(ratios):.4f}-{max(ratios):.4f})   {more:+.1f} us a step",
                flush=True,
            )


if __name__ == "__main__":
    main()
