"""What the Keras tests share: running a script bare and hooked, and reading the run back."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import laptime
import pytest
from side_by_side import Ending, both, run

pytest.importorskip("tensorflow")

SCRIPTS = Path(__file__).parent / "scripts"
HOOK = str(Path(laptime.__file__).parent / "_hook")


@dataclass(frozen=True)
class Recorded:
    """A recorded script: its ending, its run as a report, and what its own clock told."""

    ending: Ending
    run: laptime.Run
    clock: list[dict[str, float]]

    @property
    def report(self) -> dict[str, Any]:
        return self.run.to_dict()

    def epochs(self, fit: int) -> list[dict[str, Any]]:
        return [epoch for epoch in self.run.epochs if epoch["fit"] == self.run.fits[fit]["index"]]

    def seconds(self, stage: str) -> float:
        return sum(row["seconds"] for row in self.run.ledger if row["stage"] == stage)

    def count(self, stage: str) -> int:
        return sum(row["count"] or 0 for row in self.run.ledger if row["stage"] == stage)


def run_both(words: list[str], folder: Path, *, hooked: bool = True) -> tuple[Ending, Recorded]:
    """Runs a script without laptime's hooks and with them at once: most of the time is an import."""
    truth = folder / "truth.json"
    variables = {
        "LAPTIME_DIR": str(folder / "runs"),
        "LAPTIME_QUIET": "1",
        "TRUTH_FILE": str(truth),
    }
    ending, bare = both(
        lambda: run_script(words, {"LAPTIME_DISABLED": "1"}),
        lambda: run_script(words, variables | ({"PYTHONPATH": HOOK} if hooked else {})),
    )
    clock = json.loads(truth.read_text()) if truth.exists() else []
    return bare, Recorded(ending, laptime.load(dir=folder / "runs"), clock)


def run_script(words: list[str], variables: dict[str, str]) -> Ending:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAPTIME_")}
    kept.pop("PYTHONPATH", None)
    plain = {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
    return run([sys.executable, *words], kept | plain | variables, SCRIPTS)
