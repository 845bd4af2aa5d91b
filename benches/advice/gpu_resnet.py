"""Is the advice for a GPU right? `python benches/advice/gpu_resnet.py [--ladder]`, on a machine that has one.

Records `gpu.py`, asks `laptime advise`, and proves the items for TF32, autocast, channels-last and compile one by one.
With `--ladder` each is proved on top of those before it, which the script then makes itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("gpu.py")
ITEMS = ("tf32", "autocast", "channels_last", "compile")


def laptime(folder: str, *args: str) -> str:
    """What a command of laptime prints."""
    env = os.environ | {"LAPTIME_DIR": folder}
    done = subprocess.run(
        [sys.executable, "-m", "laptime", *args], env=env, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"laptime {' '.join(args)}: {done.stderr[-2000:]}")
    return done.stdout


def advice_on(folder: str, command: list[str]) -> dict[str, Any]:
    """Records the command, and asks what to change of it."""
    laptime(folder, "run", "--quiet", "--", *command)
    print(laptime(folder, "advise"), flush=True)
    return json.loads(laptime(folder, "advise", "--json"))


def prove(folder: str, item: str, command: list[str], pairs: int) -> dict[str, Any]:
    """The proof of an item of the advice on the latest run."""
    options = ["--prove", item, "--pairs", str(pairs), "--json", "--quiet"]
    return json.loads(laptime(folder, "advise", *options, "--", *command))["proof"]


def show(item: str, step_s: float, proof: dict[str, Any]) -> None:
    """One row of the table."""
    predicted, measured = proof["predicted"], proof["measured"]
    kind = "typical" if predicted["typical"] else "predicted"
    low, high = (f"{measured[end]:.2f}" for end in ("low", "high"))
    print(
        f"| {item} | {step_s * 1e3:.1f} ms | {predicted['low']:.2f}–{predicted['high']:.2f}× {kind} "
        f"| {measured['mean']:.2f}× ({low}–{high}) | {proof['pairs']} | {proof['holds']} "
        f"| {proof['same_training']} |",
        flush=True,
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ladder", action="store_true", help="each item on top of those before it")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("items", nargs="*", default=ITEMS, help=f"default: {' '.join(ITEMS)}")
    options = parser.parse_args()
    script = [sys.executable, str(SCRIPT), "--batch", str(options.batch)]
    script += ["--steps", str(options.steps)]
    with tempfile.TemporaryDirectory() as folder:
        command = script
        advice = advice_on(folder, command)
        print("| item | step | expected | measured | pairs | holds | same training |")
        print("|---|---|---|---|---|---|---|", flush=True)
        made: list[str] = []
        for item in options.items:
            if options.ladder and made:
                command = [*script, "--with", ",".join(made)]
                advice = advice_on(folder, command)
            made.append(item)
            if item not in [one["id"] for one in advice["items"]]:
                print(f"| {item} | | not advised | | | | |", flush=True)
                continue
            try:
                show(item, advice["step_s"], prove(folder, item, command, options.pairs))
            except RuntimeError as error:
                print(f"| {item} | | could not be proved: {error} | | | | |", flush=True)


if __name__ == "__main__":
    main()
