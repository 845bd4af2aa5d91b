"""Are the times of a GPU right? `python benches/gpu/check.py [CASE ...]`, on a machine that has one.

Runs every training of `cases.py` under `laptime run`, and holds its report against the script's own synchronized
clock and, where the GPU is the limit, against torch.profiler: from the first to the last kernel of a stage, and in
brackets all its kernels added up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CASES = Path(__file__).with_name("cases.py")
GPU = "the GPU is the limit"
# What the verdict must say of each training.
LIMITS = {
    "gpu_bound": GPU,
    "item": GPU,
    "launch_bound": "the host is the limit",
    "data_bound": "data loading is the limit",
    "data_bound_workers": "data loading is the limit",
    "pageable": "pageable",
    "side_stream": GPU,
    "amp": GPU,
    "compiled": GPU,
    "graph": GPU,
    "accumulation": GPU,
    "evaluation": GPU,
    "two_models": GPU,
}
# Trainings whose stages torch.profiler can tell apart.
PROFILED = ("gpu_bound", "item")


def run(case: str, folder: str) -> tuple[list[float], dict[str, Any], str]:
    """The epochs by the script's clock, the report, and its text."""
    env = os.environ | {"LAPTIME_DIR": folder}
    command = [
        sys.executable,
        "-m",
        "laptime",
        "run",
        "--quiet",
        "--",
        sys.executable,
        str(CASES),
        case,
    ]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{case}: {done.stderr[-2000:]}")
    clock = [json.loads(line)["epoch_s"] for line in done.stdout.splitlines() if "epoch_s" in line]
    show = [sys.executable, "-m", "laptime", "report"]
    shown = [
        subprocess.run([*show, *more], env=env, capture_output=True, text=True)
        for more in (["--json"], [])
    ]
    return clock, json.loads(shown[0].stdout), shown[1].stdout


def profiled(case: str, folder: str) -> dict[str, float]:
    command = [sys.executable, str(CASES), case, "1", f"{folder}/trace.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}


def share(report: dict[str, Any], row: str) -> float:
    return sum(one["share"] for one in report["device_ledger"] or [] if one["row"] == row)


def off_by(rows: dict[str, float], by_profiler: dict[str, float], name: str, kind: str) -> str:
    return f"{(rows.get(name, 0.0) / by_profiler[name + kind] - 1) * 100:+.1f} %"


def judge(case: str) -> tuple[str, str]:
    """A line of the table, and the text of the report."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        clock, report, text = run(case, folder)
        by_profiler = profiled(case, folder) if case in PROFILED else {}
    epochs = [epoch for epoch in report["epochs"] if epoch["kind"] == "epoch"]
    # The first has the device's warm-up on top, which both clocks see.
    pairs = list(zip(clock, epochs, strict=False))
    off = max((abs(epoch["wall_s"] / own - 1) for own, epoch in pairs), default=1.0)
    gaps = [
        abs(sum((epoch["device_stages"] or {}).values()) / epoch["wall_s"] - 1) for epoch in epochs
    ]
    rows = epochs[-1]["device_stages"] or {} if epochs else {}
    unexplained = rows.get("unexplained", 0.0) / epochs[-1]["wall_s"] if epochs else 1.0
    verdicts = [finding.get("text", "") for finding in report["findings"]]
    named = any(LIMITS[case] in verdict for verdict in verdicts) or LIMITS[case] in text
    stages = "".join(
        f"  {name[:3]} {off_by(rows, by_profiler, name, ' span')} ({off_by(rows, by_profiler, name, '')})"
        for name in ("forward", "backward", "optimizer")
        if name in by_profiler
    )
    line = (
        f"{case:20} {len(epochs)}/{len(clock):<3} {clock[-1] * 1e3:8.1f} ms {off * 100:6.2f} % "
        f"{max(gaps, default=1.0) * 100:7.3f} % {unexplained * 100:6.1f} %  {'yes' if named else 'NO':4}{stages}"
    )
    return line, text


def main() -> None:
    cases = sys.argv[1:] or list(LIMITS)
    print(f"{'':20} epochs  last epoch    off   ledger  unexpl.  limit named", flush=True)
    texts = []
    for case in cases:
        try:
            line, text = judge(case)
        except (Exception, SystemExit) as error:
            line, text = f"{case:20} failed: {error!r}"[:1500], ""
        print(line, flush=True)
        texts.append(f"== {case}\n{text}")
    if out := os.environ.get("OUT"):
        Path(out, "reports.txt").write_text("\n".join(texts))


if __name__ == "__main__":
    main()
