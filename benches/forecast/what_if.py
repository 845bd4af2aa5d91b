"""Whether `laptime predict` knows what another batch, other rows or other workers make of a training.

    python benches/forecast/what_if.py DIR

DIR is the folder of `validate.py`. Each of its quiet runs is asked for the configurations that differ from it in its rows
or workers, as many epochs of them; what those take is the mean of their own runs. Another batch is asked of the command,
which is probed with two small ones.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from math import log
from pathlib import Path
from statistics import fmean, median

from validate import CASES, ENVIRONMENT, Bench, Run, scratch

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
PROBED = "12"  # seconds of each probe


def lap_s(bench: Bench, run: Run) -> float:
    """The mean epoch with all that follows it, seconds; of a training without epochs a step."""
    report = json.loads(bench.call([bench.laptime, "report", run.id, "--json"], "runs"))
    return report["fits"][-1]["wall_s"] / run.count


def asked(bench: Bench, run: Run, option: str, value: str) -> tuple[float, float, float]:
    """How many times as long an epoch would be, with its interval; seen alone: no other run may help."""
    alone = bench.folder / "alone"
    (alone / "runs").mkdir(parents=True, exist_ok=True)
    copy = alone / "runs" / run.id
    shutil.copytree(bench.folder / "runs" / run.id, copy, copy_function=os.link)
    try:
        words = [bench.laptime, "predict", "--from", run.id, option, value, "--json"]
        environment = {
            **os.environ,
            "LAPTIME_DIR": str(alone / "runs"),
            "LAPTIME_DATA_DIR": str(alone),
        }
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    finally:
        shutil.rmtree(copy)
    ratio = json.loads(done.stdout)["change"]["ratio"]
    return ratio["mean"], ratio["low"], ratio["high"]


def probed(bench: Bench, name: str, value: str) -> tuple[float, float, float] | None:
    """The same of a command that is probed with its own batch and with a smaller one; `None` where that is refused."""
    case = next(case for case in CASES if case.name == name)
    command = bench.command(case, bench.count_of(case))
    command = command[command.index("--") + 1 :]
    words = [bench.laptime, "predict", "--seconds", PROBED, "--batch", value, "--json", "--"]
    with scratch() as folder:
        own = {"LAPTIME_DIR": str(folder / "runs"), "LAPTIME_DATA_DIR": str(folder)}
        done = subprocess.run(
            [*words, *command],
            cwd=folder,
            env={**os.environ, **ENVIRONMENT, **own},
            capture_output=True,
            text=True,
        )
    if done.returncode != 0:
        print(f"  {name}: {done.stderr.splitlines()[1].strip()}")
        return None
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
                by_probe = option == "--batch"
                for run in runs[here][:1] if by_probe else runs[here]:
                    found = (
                        probed(bench, here, values[there])
                        if by_probe
                        else asked(bench, run, option, values[there])
                    )
                    if found is None:
                        continue
                    mean, low, high = found
                    own = fmean(lap_s(bench, one) for one in (runs[here] if by_probe else [run]))
                    truth = 1 + run.count * (lap - own) / run.took_s
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
