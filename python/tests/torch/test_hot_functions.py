"""`laptime run --profile` on PyTorch: the planted function is first in its stage, also inside workers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import Ending, run_bare
from .watched import LAPTIME, run

TRAINING = {
    "forward": "Net.hot_forward",
    "backward": "hot_backward",
    "optimizer": "SlowSGD.hot_step",
}
LOADING = {"fetch": "Rows.hot_item", "transform": "hot_transform", "collate": "hot_collate"}


@pytest.fixture(scope="module")
def bare() -> Ending:
    """The same training alone: how its data is loaded changes neither its losses nor what it prints."""
    return run_bare(["hot.py", "0"])


@pytest.mark.parametrize("loading", [["0"], ["2", "fork"], ["2", "spawn"]], ids=" ".join)
def test_planted_functions_are_first_in_their_stages(
    loading: list[str], bare: Ending, tmp_path: Path
) -> None:
    words = [*LAPTIME, "run", "--profile", "--", sys.executable, "hot.py", *loading]
    code, out, err = run(words, tmp_path)
    assert (code, out) == (bare.code, bare.stdout), err
    first = firsts(tmp_path)
    assert {stage: first["training"][stage] for stage in TRAINING} == TRAINING
    if loading == ["0"]:
        assert first["training"]["data_wait"] == "Rows.hot_item"
        assert "loader_workers" not in first
    else:
        assert {stage: first["loader_workers"][stage] for stage in LOADING} == LOADING
    assert "sampling cost" in " ".join(err.split())


def firsts(folder: Path) -> dict[str, dict[str, str]]:
    """The first function of each stage of each part."""
    code, out, err = run([*LAPTIME, "report", "--json"], folder)
    assert code == 0, err
    parts: list[dict[str, Any]] = json.loads(out)["profile"]["parts"]
    return {
        part["part"]: {
            stage["stage"]: stage["functions"][0]["name"]
            for stage in part["stages"]
            if stage["functions"]
        }
        for part in parts
    }
