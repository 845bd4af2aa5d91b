"""What a repeat costs on a Ray cluster more than on this machine alone: `python benches/python/ray_sweep.py [REPEATS]`.

A cluster of three nodes is started on this machine. The same sweep of a command that sleeps is made alone and on the
cluster, in turns, and the time of each is shared among its repeats: what Ray, the nodes' processes and the way back of
the run folders add is the difference. Bar: at most 100 ms a repeat.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NODES = Path(__file__).parents[2] / "python" / "tests" / "ray" / "nodes.py"
SLEEP = "0.05"
TURNS = 3


def sweep(folder: str, repeats: int, *on: str) -> tuple[float, float]:
    """Seconds a repeat, and seconds from the command's start to its end that are no repeat's."""
    options = [
        "--json",
        "--quiet",
        "--no-hooks",
        "--repeats",
        str(repeats),
        *on,
        "-p",
        f"x={SLEEP}",
    ]
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "laptime", "sweep", *options, "--", "sleep", "{x}"],
        env={**os.environ, "LAPTIME_DIR": folder},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stderr)
    document = json.loads(done.stdout)["sweep"]
    wall_s = time.perf_counter() - began
    return document["wall_s"] / document["repeats"], wall_s - document["wall_s"]


def row(name: str, values: list[float]) -> None:
    low, high = min(values) * 1000, max(values) * 1000
    print(f"{name:<24}{statistics.median(values) * 1000:9.1f}  ({low:.1f} to {high:.1f})")


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    pipe = subprocess.PIPE
    words = [sys.executable, "-P", str(NODES)]
    nodes = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)
    address = nodes.stdout.readline().strip()
    alone, spread = [], []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(TURNS):
                alone.append(sweep(folder, repeats))
                spread.append(sweep(folder, repeats, "--on", f"ray={address}"))
    finally:
        nodes.stdin.close()
        nodes.wait()
    print(
        f"{TURNS} sweeps each of {repeats} repeats or more, sleep {SLEEP}, in turns: median, range, ms"
    )
    row("a repeat alone", [one for one, _ in alone])
    row("a repeat on Ray", [one for one, _ in spread])
    row("Ray adds to a repeat", [b - a for (a, _), (b, _) in zip(alone, spread)])
    row("Ray adds to a sweep", [b - a for (_, a), (_, b) in zip(alone, spread)])


if __name__ == "__main__":
    main()
