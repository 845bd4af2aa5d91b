"""Is the late rank named? `python benches/distributed/planted.py [TRIALS [DELAY_MS [WAY ...]]]`.

Four ranks on gloo under torchrun. In each fit of 40 steps one rank, drawn at random, is late by 50 ms in every
step: in its data, forward pass, backward pass or optimizer. Balanced fits are late nowhere; in rotating ones the
ranks take turns. The report of the run is asked who was late in each fit, and in which stage.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TRIALS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
DELAY_MS = float(sys.argv[2]) if len(sys.argv) > 2 else 50.0
WAYS = sys.argv[3:] or ["ddp", "fsdp", "hand"]
STAGES = {
    "backward": "backward",
    "forward": "forward",
    "data": "data_wait",
    "optimizer": "optimizer",
}
PLACES = [*STAGES, "balanced", "rotating"]
RANKS = 4
BARS = dict.fromkeys(STAGES, TRIALS) | {"balanced": TRIALS - TRIALS // 20, "rotating": TRIALS}


def launch(way: str, place: str, folder: Path, seed: int) -> tuple[list[int], dict[str, Any]]:
    """The rank drawn in each trial, and the report of the run."""
    worker = str(Path(__file__).with_name("planted_worker.py"))
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(RANKS),
    ]
    script = [worker, way, place, str(TRIALS), str(DELAY_MS), str(seed)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAPTIME_")}
    environment = kept | {"LAPTIME_DIR": str(folder), "OMP_NUM_THREADS": "1"}
    laptime = [sys.executable, "-m", "laptime"]
    run = subprocess.run(
        [*laptime, "run", "--quiet", "--", *torchrun, *script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        sys.exit(run.stderr)
    shown = subprocess.run(
        [*laptime, "report", "--json"], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout.splitlines()[-1]), json.loads(shown.stdout)


def stragglers(report: dict[str, Any]) -> list[dict[str, Any] | None]:
    """Who was late in each fit."""
    communication = report["communication"]
    if communication["fits"] is None:
        return [communication["straggler"]] * len(report["fits"])
    found = {one["fit"]: one["straggler"] for one in communication["fits"]}
    return [found.get(fit["index"]) for fit in report["fits"]]


def judged(place: str, truth: list[int], found: list[dict[str, Any] | None]) -> tuple[int, int]:
    """In how many fits a rank was named, and in how many the answer was right."""
    chronic = [one if one and one["pattern"] == "chronic" else None for one in found]
    named = sum(one is not None for one in chronic)
    if place == "balanced":
        return named, len(truth) - named
    if place == "rotating":
        return named, sum(bool(one) and one["pattern"] == "rotating" for one in found)
    right = zip(chronic, truth, strict=True)
    return named, sum(
        bool(one) and one["ranks"] == [rank] and one["stage"] == STAGES[place]
        for one, rank in right
    )


def main() -> None:
    print(f"{RANKS} ranks on gloo, {TRIALS} fits of 40 steps a launch, {DELAY_MS:.0f} ms late")
    print(
        f"{'exchange':9} {'late in':10} {'fits':>5} {'named':>6} {'right':>6} {'bar':>5} {'step':>8} {'launch':>7}"
    )
    missed = False
    for way in WAYS:
        for seed, place in enumerate(PLACES):
            with tempfile.TemporaryDirectory() as folder:
                began = time.monotonic()
                truth, report = launch(way, place, Path(folder), seed)
                took = time.monotonic() - began
            found = stragglers(report)
            named, right = judged(place, truth, found)
            missed |= right < BARS[place]
            step_ms = report["ranks"][0]["communication"]["step_s"] * 1e3
            print(
                f"{way:9} {place:10} {len(found):5} {named:6} {right:6} {BARS[place]:5} {step_ms:5.1f} ms {took:5.0f} s",
                flush=True,
            )
    sys.exit(missed)


if __name__ == "__main__":
    main()
