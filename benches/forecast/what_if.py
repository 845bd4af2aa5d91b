"""Whether `laptime predict --from RUN` knows what another batch, other rows or other workers make of a training.

    python benches/forecast/what_if.py DIR

DIR is the folder of `validate.py`. Each of its quiet runs is asked for the configurations that differ from it in one of
the three, as many epochs of them; what those take is the mean of their own runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from math import log
from pathlib import Path
from statistics import fmean, median

from validate import CASES, Bench, Run

# An option, and the configurations that differ only in it: what each has for it.
ALIKE = [
    ("--batch", {"table b32": "32", "table": "64", "table b256": "256"}),
    ("--batch", {"pictures b16": "16", "pictures": "64"}),
    ("--batch", {"steps": "8", "steps b32": "32"}),
    ("--batch", {"keras": "64", "keras b256": "256"}),
    ("--rows", {"table": "8192", "table rows": "32768"}),
    ("--workers", {"table": "0", "table w1": "1"}),
    ("--workers", {"pictures": "0", "pictures w1": "1", "pictures w2": "2"}),
    ("--workers", {"storage": "0", "storage w2": "2", "storage w4": "4"}),
]
SAME = 0.05  # a smaller change has no sign


def lap_s(bench: Bench, run: Run) -> float:
    """The mean epoch with all that follows it, seconds; of a training without epochs a step."""
    report = json.loads(bench.call([bench.laptime, "report", run.id, "--json"], "runs"))
    return report["fits"][-1]["wall_s"] / run.count


def asked(bench: Bench, run: Run, option: str, value: str) -> tuple[float, float, float]:
    """How many times as long an epoch would be, with its interval; seen alone: no other run may help."""
    alone = bench.folder / "alone"
    (alone / "runs").mkdir(parents=True, exist_ok=True)
    link = alone / "runs" / run.id
    link.symlink_to(next((bench.folder / "runs").glob(f"**/{run.id}*")))
    try:
        words = [bench.laptime, "predict", "--from", run.id, option, value, "--json"]
        environment = {
            **os.environ,
            "LAPTIME_DIR": str(alone / "runs"),
            "LAPTIME_DATA_DIR": str(alone),
        }
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    finally:
        link.unlink()
    ratio = json.loads(done.stdout)["change"]["ratio"]
    return ratio["mean"], ratio["low"], ratio["high"]


def main() -> None:
    bench = Bench(Path(sys.argv[1]), 0.0)
    runs = defaultdict(list)
    for run in bench.runs():
        if not run.loaded:
            runs[run.case].append(run)
    known = {case.name for case in CASES}
    errors, signs, held = [], [], []
    print("option     from          to            measured  predicted (90 %)      off")
    for option, values in ALIKE:
        assert set(values) <= known
        for here in values:
            for there in values:
                if here == there or not runs[here] or not runs[there]:
                    continue
                lap = fmean(lap_s(bench, run) for run in runs[there])
                for run in runs[here]:
                    mean, low, high = asked(bench, run, option, values[there])
                    truth = 1 + run.count * (lap - lap_s(bench, run)) / run.took_s
                    off = mean / truth - 1
                    errors.append(abs(off))
                    held.append(low <= truth <= high)
                    if abs(log(truth)) > SAME:
                        signs.append((mean > 1) == (truth > 1))
                    print(
                        f"{option:9}  {here:12}  {there:12}  {truth:7.2f}×  {mean:6.2f}× ({low:.2f}–{high:.2f})  {off:+6.1%}"
                    )
    print(
        f"sign right in {sum(signs)} of {len(signs)} changes above {SAME:.0%}; median error {median(errors):.1%}"
    )
    print(f"the 90 % interval holds in {sum(held)} of {len(held)}")


if __name__ == "__main__":
    main()
