"""Event files, read by TensorBoard's own loader and held against the report of their run."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

# TensorFlow is not needed to read scalars and takes seconds to import: TensorBoard then uses its own reader.
sys.modules.setdefault("tensorboard.compat.notf", types.ModuleType("notf"))

import pytest
from tensorboard.backend.event_processing import event_accumulator, event_file_loader

LAPTIME = [sys.executable, "-m", "laptime"]
FIXTURES = Path(__file__).parents[2] / "fixtures" / "runs"

EXACT = 2**-24
"""Event files keep so much of a number."""

Points = dict[tuple[str, int], tuple[float, float]]
"""Tag and step to wall time and value."""


def report(runs: Path, run: str | None = None) -> dict[str, Any]:
    """The run as `laptime report --json` tells it."""
    words = [*LAPTIME, "report", "--dir", str(runs), "--json", *([run] if run else [])]
    return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)


def export(runs: Path, run: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Exports a run."""
    words = [*LAPTIME, "report", "--dir", str(runs), run, "--export", "tensorboard", str(folder)]
    return subprocess.run(words, capture_output=True, text=True)


def fit_folders(folder: Path) -> list[Path]:
    """The folders with event files below one, in the order of the fits."""
    found = {path.parent for path in folder.rglob("*tfevents*")}
    return sorted(found, key=lambda path: int(path.name.split("-")[1]))


def points(folder: Path) -> Points:
    """Every scalar of a folder, by TensorBoard's accumulator."""
    accumulator = event_accumulator.EventAccumulator(str(folder), {"scalars": 0})
    accumulator.Reload()
    return {
        (tag, event.step): (event.wall_time, event.value)
        for tag in accumulator.Tags()["scalars"]
        for event in accumulator.Scalars(tag)
    }


def events(path: Path) -> list[Any]:
    """Every event of a file, as TensorBoard's server reads it."""
    return list(event_file_loader.EventFileLoader(str(path)).Load())


def expected(document: dict[str, Any], fit: int) -> Points:
    """What a report says of the whole epochs of a fit."""
    whole = [e for e in document["epochs"] if e["fit"] == fit and e["complete"] and e["settled"]]
    return {
        (f"laptime/{name}", epoch["index"]): (epoch["ended_unix_s"], value)
        for epoch in whole
        for name, value in _numbers(epoch).items()
        if value is not None
    }


def _numbers(epoch: dict[str, Any]) -> dict[str, float | None]:
    waited = epoch["stages"].get("data_wait")
    left = epoch["time_left"]
    return {f"stage/{stage}_s": seconds for stage, seconds in epoch["stages"].items()} | {
        "epoch_time_s": epoch["wall_s"],
        "evaluate_s": epoch["evaluate_s"] or None,
        "samples_per_s": epoch["samples_per_s"],
        "data_wait_share": None if waited is None else waited / epoch["wall_s"],
        "time_left_s": left and left["mean"],
        "loss": epoch["loss"],
    }


def equal(read: Points, wanted: Points, relative: float = EXACT) -> bool:
    """Whether the same points are there, each value as expected, within a share of it."""
    assert read.keys() == wanted.keys(), read.keys() ^ wanted.keys()
    for key, (unix_s, value) in read.items():
        assert unix_s == pytest.approx(wanted[key][0], abs=1e-3), key
        assert value == pytest.approx(wanted[key][1], rel=relative, abs=1e-9), key
    return bool(read)


def equal_live(read: Points, wanted: Points) -> bool:
    """The same of points that were written while the run was running.

    The length of the clock's tick is known better at the end. And in the first tenth of a second of a fit its
    plan may not have come to disk, so that nobody could foresee its end.
    """
    missing = {key for key in wanted.keys() - read.keys() if key[0] == "laptime/time_left_s"}
    return equal(read, {key: wanted[key] for key in wanted.keys() - missing}, 1e-3)
