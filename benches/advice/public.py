"""What public training scripts gain by nothing but what `laptime advise` proved on them.

For each script of `public.json`: records it, asks for advice, proves the first items that laptime can inject or
that `edits` has as a person would make them, then runs it in turns as it is and with all proved gains together,
and compares.

    python benches/advice/public.py --cases DIR [--only NAME ...] [--pairs N] [--plain] [--gpu]
        [--laptime PATH]

DIR has a folder for each script, with its source and its data, and `launch.py` (see README.md).
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from command import CommandError, Document, Laptime, installed, range_text

HERE = Path(__file__).resolve().parent
PROVED_ITEMS = 3  # of each script, by rank
LEAST_PAIRS = 3

# What a script would find on a machine without a screen; threads stay as the frameworks set them.
ENVIRONMENT = {"MPLBACKEND": "Agg", "TF_CPP_MIN_LOG_LEVEL": "3"}
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}


@dataclass
class Script:
    """A public script with its command line, laid out in a folder where it may write."""

    name: str
    command: list[str]
    laptime: Laptime
    edits: dict[
        str, list[tuple[str, str]]
    ]  # by item: texts of the script, and what stands for them

    def edited(self, items: list[str]) -> list[str]:
        """The command of a copy of the script in which these items are followed."""
        if not items:
            return self.command
        # The last file: one before it starts the script.
        script = [word for word in self.command if (self.laptime.cwd / word).is_file()][-1]
        text = (self.laptime.cwd / script).read_text()
        for before, after in [edit for item in items for edit in self.edits[item]]:
            if before not in text:
                raise SystemExit(f"{self.name}: no {before!r} to edit in {script}")
            text = text.replace(before, after)
        copy = Path(script).with_name(f"{'_'.join(items)}_{Path(script).name}")
        (self.laptime.cwd / copy).write_text(text)
        return [str(copy) if word == script else word for word in self.command]


@dataclass
class Outcome:
    """What was proved on a script, and what it came to in the end."""

    name: str
    items: list[str] = field(default_factory=list)
    proved: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    compared: Document | None = None

    def speedup(self) -> float:
        """× against the script as it is: 1 where nothing was proved or the loss did not stay."""
        if self.compared is None or not same_loss(self.compared):
            return 1.0
        return speedups(self.compared)[0]


def speedups(compared: Document) -> tuple[float, float, float]:
    """× of the changed runs, with its interval: a comparison has times as shares of the plain ones."""
    ratio = compared["ratio"]
    return 1 / ratio["mean"], 1 / ratio["high"], 1 / ratio["low"]


def same_loss(compared: Document) -> bool:
    return bool(compared["same_training"])


def lay_out(case: Document, cases: Path, scratch: Path, path: str, gpu: bool) -> Script:
    """Copies a prepared case, so that what the script writes leaves the original as it was."""
    folder = scratch / case["name"]
    shutil.copytree(cases / case["name"], folder, symlinks=True)
    cwd = folder / case.get("folder", Path(case["path"]).parent)
    words = [
        word.replace("{cases}", str(cases)) for word in case["gpu_command" if gpu else "command"]
    ]
    environment = {
        name: value.replace("{cases}", str(cases))
        for name, value in case.get("environment", {}).items()
    }
    command = [sys.executable if word == "python" else word for word in words]
    laptime = Laptime(
        path, scratch / "runs", cwd, ENVIRONMENT | ({} if gpu else NO_GPU) | environment
    )
    return Script(case["name"], command, laptime, case.get("edits", {}))


def prove_items(script: Script, outcome: Outcome, pairs: int) -> None:
    """Proves the first items that can be followed; those with a sure gain become changes."""
    items = script.laptime.advise(script.name)["items"]
    outcome.items = [item["id"] for item in items]
    followed = [item for item in items if item["injects"] or item["id"] in script.edits]
    for item in followed[:PROVED_ITEMS]:
        try:
            prove_item(script, outcome, item, pairs)
        except CommandError as error:
            print(f"  {script.name}: {item['id']} not proved: {error}", flush=True)


def prove_item(script: Script, outcome: Outcome, item: Document, pairs: int) -> None:
    """Proves one item, and keeps it where it surely gains and trains the same."""
    options = ["--pairs", str(pairs)]
    if not item["injects"]:
        options += ["--changed", shlex.join(script.edited([item["id"]]))]
    compared = script.laptime.prove(script.name, item["number"], script.command, options)
    measured = compared["proof"]["measured"]
    what = item["injects"] or item["id"]
    is_proved = measured["low"] > 1.0 and same_loss(compared)
    if is_proved:
        outcome.proved.append(f"{what} {measured['mean']:.2f}×")
        if item["injects"]:
            outcome.changes += item["injects"].split(",")
        else:
            outcome.edited.append(item["id"])
    print(
        f"  {script.name}: {what} {measured['mean']:.2f}× "
        f"({range_text(measured['low'], measured['high'])}), same training: "
        f"{compared['same_training']}{'' if is_proved else ', not proved'}",
        flush=True,
    )


def compare_together(script: Script, outcome: Outcome, pairs: int) -> Document:
    """The script as it is against all changes together, in turns."""
    before, after = [], []
    changed = script.edited(outcome.edited)
    for _ in range(pairs):
        before.append(script.laptime.run(f"{script.name}-plain", script.command))
        after.append(script.laptime.run(f"{script.name}-changed", changed, outcome.changes))
    return script.laptime.compare(before, after)


def judge(script: Script, pairs: int) -> Outcome:
    """Records, advises, proves, and compares with all proved gains together."""
    outcome = Outcome(script.name)
    script.laptime.run(script.name, script.command)
    prove_items(script, outcome, pairs)
    if outcome.proved:
        outcome.compared = compare_together(script, outcome, pairs)
    return outcome


def show(outcome: Outcome) -> None:
    print(f"{outcome.name}: advised {', '.join(outcome.items) or 'nothing'}")
    print(f"  proved {', '.join(outcome.proved) or 'nothing'}")
    if outcome.compared is not None:
        mean, low, high = speedups(outcome.compared)
        kept = "yes" if same_loss(outcome.compared) else "no"
        print(f"  together {mean:.2f}× ({range_text(low, high)}), same loss: {kept}", flush=True)


def attempt(script: Script, pairs: int) -> float | None:
    """The final speed-up of a script; none, with the reason printed, where it could not be judged."""
    try:
        outcome = judge(script, pairs)
    except CommandError as error:
        print(f"{script.name}: {error}", file=sys.stderr)
        return None
    show(outcome)
    return outcome.speedup()


def time_plain(script: Script) -> None:
    """Runs a script once and prints how long it took, with its start."""
    began = time.monotonic()
    script.laptime.run(script.name, script.command)
    print(f"{script.name}: {time.monotonic() - began:.1f} s", flush=True)


def bench(scripts: list[Script], pairs: int) -> None:
    finals = [attempt(script, pairs) for script in scripts]
    known = [final for final in finals if final is not None]
    print(f"{len(known)} of {len(scripts)} scripts judged", end="")
    print(f"; median speed-up {statistics.median(known):.2f}×" if known else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=Path, required=True, help="folder of the prepared scripts")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these scripts only")
    parser.add_argument("--pairs", type=int, default=4, help="pairs of runs")
    parser.add_argument("--plain", action="store_true", help="only run each once, for its time")
    parser.add_argument("--gpu", action="store_true", help="the scripts that can use one, on a GPU")
    parser.add_argument("--laptime", help="the command to call [default: the one installed here]")
    options = parser.parse_args()
    if options.pairs < LEAST_PAIRS:
        parser.error(f"at least {LEAST_PAIRS} pairs")
    listed = json.loads((HERE / "public.json").read_text())
    known = [case for case in listed if not options.gpu or "gpu_command" in case]
    wanted = [case for case in known if not options.only or case["name"] in options.only]
    with tempfile.TemporaryDirectory() as scratch:
        cases, path = options.cases.resolve(), options.laptime or installed()
        scripts = [lay_out(case, cases, Path(scratch), path, options.gpu) for case in wanted]
        if options.plain:
            for script in scripts:
                time_plain(script)
        else:
            bench(scripts, options.pairs)


if __name__ == "__main__":
    main()
