"""What the torch tests share: running a script bare and hooked, and reading the run back."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from side_by_side import Ending, both, run

pytest.importorskip("torch")

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class Recorded:
    """A hooked script: its ending, its run as a report, and what its own clock told."""

    ending: Ending
    report: dict[str, Any]
    clock: Any
    folder: Path

    @property
    def epochs(self) -> list[dict[str, Any]]:
        return self.report["epochs"]

    def stage(self, name: str) -> dict[str, Any]:
        rows = (row for row in self.report["ledger"] if row["stage"] == name)
        return next(rows, {"stage": name, "seconds": 0.0, "count": 0})


def run_both(words: list[str], folder: Path) -> tuple[Ending, Recorded]:
    """Runs a script bare and hooked at once: most of the time is torch's import."""
    recorded, bare = both(lambda: run_bare(words), lambda: run_hooked(words, folder))
    return bare, recorded


def run_bare(words: list[str]) -> Ending:
    # A script that imports laptime itself says where its run is, unless that is off.
    return _run([sys.executable, *words], _environment() | {"LAPTIME_DISABLED": "1"})


def run_hooked(words: list[str], folder: Path) -> Recorded:
    """Runs a script with the start-up hook first on PYTHONPATH, as `laptime run` does."""
    truth = folder / "truth.json"
    extra = hook_environment(folder) | {"TRUTH_FILE": str(truth)}
    ending = _run([sys.executable, *words], _environment() | extra)
    clock = json.loads(truth.read_text()) if truth.exists() else []
    return Recorded(ending, report_of(folder / "runs"), clock, folder)


def hook_environment(folder: Path) -> dict[str, str]:
    import laptime

    hook = Path(laptime.__file__).parent / "_hook"
    return {"PYTHONPATH": str(hook), "LAPTIME_DIR": str(folder / "runs"), "LAPTIME_QUIET": "1"}


def report_of(runs: Path) -> dict[str, Any]:
    from laptime import _native

    _, report, _ = _native.show_run(None, str(runs))
    return json.loads(report)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAPTIME_")}
    kept.pop("PYTHONPATH", None)
    # A shared cache of compiled code would let the second run skip what the first did.
    return kept | {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}


def _run(command: list[str], environment: dict[str, str]) -> Ending:
    return run(command, environment, SCRIPTS, seconds=120)
