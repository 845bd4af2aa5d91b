"""Whether `laptime advise` names a planted fault, and whether its prediction holds.

For each training of `faults/`: records it, asks for advice, proves item 1. The change is injected where
laptime can, else the training with `--fixed` stands for it. For each of `healthy/`: the largest advice.

    python benches/advice/faults.py [--only NAME ...] [--pairs N] [--runs DIR] [--laptime PATH]
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from command import CommandError, Document, Laptime, installed, range_text

HERE = Path(__file__).resolve().parent
WIDEST = 25.0  # per cent either side that a prediction which is not `typical` may span
HEALTHY = 1.05  # speed-up above which advice on a healthy training is a false alarm


@dataclass(frozen=True)
class Fault:
    """A training with a planted fault, and the advice that names it."""

    name: str
    expected: tuple[str, ...]
    loaded: bool = False  # another program keeps one processor busy meanwhile


FAULTS = [
    Fault("no_workers", ("workers",)),
    Fault("slow_transform", ("transform",)),
    Fault("item_every_step", ("synchronize",)),
    Fault("huge_collate", ("collate",)),
    Fault("evaluation_every_10_steps", ("evaluation",)),
    Fault("too_many_threads", ("threads",), loaded=True),
    Fault("growing_graph", ("drift",)),
    Fault("checkpoint_every_step", ("checkpoint",)),
    Fault("garbage_collection", ("garbage_collection",)),
    Fault("tiny_batch", ("batch",)),
    Fault("late_shards", ("prefetch",)),
    Fault("workers_start_anew", ("persistent_workers",)),
    Fault("histograms_every_batch", ("callbacks",)),
    Fault("padded_batches", ("padding",)),
    Fault("frozen_backbone", ("unused_gradients",)),
    Fault("update_every_batch", ("accumulation",)),
    Fault("workers_for_rows", ("fewer_workers",)),
    Fault("decoded_every_epoch", ("pack",)),
    Fault("memory_too_small", ("memory",)),
]
HEALTHY_NAMES = ["cnn_with_worker", "mlp_in_memory", "keras_fit"]

# One thread each: what is planted is the only thing wrong. `too_many_threads` sets its own number.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "KERAS_BACKEND": "tensorflow",
}


@contextlib.contextmanager
def load(wanted: bool) -> Iterator[None]:
    """Keeps one processor busy, if wanted."""
    if not wanted:
        yield
        return
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()


def training(folder: str, name: str) -> list[str]:
    return [sys.executable, str(HERE / folder / f"{name}.py")]


def prove(laptime: Laptime, fault: Fault, item: Document, pairs: int | None) -> Document:
    """The proof of an item; where it cannot be injected, the training with `--fixed` is its change."""
    plain = training("faults", fault.name)
    options = ["--pairs", str(pairs)] if pairs else []
    if item["injects"] is None:
        options += ["--changed", shlex.join([*plain, "--fixed"])]
    return laptime.prove(fault.name, item["number"], plain, options)["proof"]


def width(speedup: Document) -> float:
    """How far a range reaches either side of its middle, in per cent."""
    return 100 * (speedup["high"] - speedup["low"]) / (speedup["high"] + speedup["low"])


@dataclass
class Row:
    """One line of the table, and what it counts for."""

    cells: list[str]
    first: bool = False  # the fault is item 1
    holds: bool = False  # and its prediction, narrow enough, holds what was measured


def judge(laptime: Laptime, fault: Fault, pairs: int | None) -> Row:
    """Records the training, asks for advice, proves item 1."""
    laptime.run(fault.name, training("faults", fault.name))
    items = laptime.advise(fault.name)["items"]
    expected = "/".join(fault.expected)
    if not items:
        return Row([fault.name, "none", expected])
    item = items[0]
    predicted = item["speedup"]
    first = item["id"] in fault.expected
    cells = [fault.name, item["id"], expected, range_text(predicted["low"], predicted["high"])]
    cells.append("typical" if predicted["typical"] else f"±{width(predicted):.0f} %")
    if not first and item["injects"] is None:
        # `--fixed` mends the planted fault: it would prove something else.
        return Row([*cells, "not proved", "no"])
    proof = prove(laptime, fault, item, pairs)
    measured = proof["measured"]
    narrow = predicted["typical"] or width(predicted) <= WIDEST
    cells.append(f"{measured['mean']:.2f}× ({range_text(measured['low'], measured['high'])})")
    cells.append(("yes" if narrow else "too wide") if proof["holds"] else "no")
    return Row(cells, first, first and narrow and proof["holds"])


def judge_healthy(laptime: Laptime, name: str) -> Row:
    """Records a healthy training and shows the largest advice on it."""
    laptime.run(name, training("healthy", name))
    items = laptime.advise(name)["items"]
    if not items:
        return Row([name, "none"], holds=True)
    largest = max(items, key=lambda item: item["speedup"]["high"])
    speedup = largest["speedup"]
    shown = range_text(speedup["low"], speedup["high"])
    kind = "typical" if speedup["typical"] else ""
    return Row([name, largest["id"], shown, kind], holds=speedup["high"] <= HEALTHY)


def attempt(name: str, judged) -> Row | None:
    """A row, or none with the reason printed where the training or laptime failed."""
    try:
        return judged()
    except CommandError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return None


def table(header: list[str], rows: list[Row]) -> str:
    """Rows under a header, in columns as wide as they need."""
    lines = [header, *(row.cells + [""] * (len(header) - len(row.cells)) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def bench_faults(laptime: Laptime, faults: list[Fault], pairs: int | None) -> None:
    rows = []
    for fault in faults:
        with load(fault.loaded):
            rows.append(attempt(fault.name, lambda fault=fault: judge(laptime, fault, pairs)))
    judged = [row for row in rows if row is not None]
    header = ["script", "item 1", "expected", "predicted", "width", "measured", "holds"]
    print(table(header, judged))
    first, holds = sum(row.first for row in judged), sum(row.holds for row in judged)
    print(f"fault is item 1: {first} of {len(rows)}; prediction holds: {holds} of {len(rows)}")


def bench_healthy(laptime: Laptime, names: list[str]) -> None:
    rows = [attempt(name, lambda name=name: judge_healthy(laptime, name)) for name in names]
    judged = [row for row in rows if row is not None]
    print(table(["healthy script", "largest advice", "speed-up", ""], judged))
    print(f"no advice above 5 %: {sum(row.holds for row in judged)} of {len(rows)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these scripts only")
    parser.add_argument("--pairs", type=int, help="pairs of runs in each proof")
    parser.add_argument("--runs", type=Path, help="keep the runs in this folder")
    parser.add_argument("--laptime", help="the command to call [default: the one installed here]")
    options = parser.parse_args()
    names = [fault.name for fault in FAULTS] + HEALTHY_NAMES
    wanted = options.only or names
    if unknown := set(wanted) - set(names):
        parser.error(f"no such script: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as scratch:
        runs = options.runs.resolve() if options.runs else Path(scratch, "runs")
        laptime = Laptime(options.laptime or installed(), runs, Path(scratch), ENVIRONMENT)
        if faults := [fault for fault in FAULTS if fault.name in wanted]:
            bench_faults(laptime, faults, options.pairs)
        if healthy := [name for name in HEALTHY_NAMES if name in wanted]:
            bench_healthy(laptime, healthy)


if __name__ == "__main__":
    main()
