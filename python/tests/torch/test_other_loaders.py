"""What is recorded of loaders that a script has beside the one it trains with, and what a forecast makes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from side_by_side import check_same

from .conftest import SCRIPTS, run_both, run_hooked

OTHER = "torch.other_loader"


def others_of(report: dict[str, Any]) -> dict[str, int]:
    """What the fit says of other loaders, the names without what they have in common."""
    settings = report["fits"][0]["settings"].items()
    return {name.removeprefix(OTHER): int(it) for name, it in settings if name.startswith(OTHER)}


ONE = {"_batches": 3, "_rows": 48, "_workers": 0}


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("alone", {}),
        ("", {"_batches": 2, "_rows": 10, "_workers": 0}),
        ("validation alone", ONE),
        ("validation alone beside", ONE),
        ("odd alone", {}),
        ("odd validation", ONE | {"s": 2, "_least_rows": 10, "_most_rows": 48}),
        ("validation test alone", ONE | {"s": 2, "_least_rows": 48, "_most_rows": 200}),
    ],
)
def test_the_loader_made_next_is_known_by_its_length_and_others_by_how_they_differ(
    kinds: str, expected: dict[str, int], tmp_path: Path
) -> None:
    bare, recorded = run_both(["other_loaders.py", *kinds.split()], tmp_path)
    check_same(bare, recorded.ending)
    assert bare.code == 0, bare.stderr
    assert others_of(recorded.report) == expected
    assert not recorded.report["warnings"]


def test_a_loader_that_cannot_be_made_fails_as_it_does_without_the_hook(tmp_path: Path) -> None:
    bare, recorded = run_both(["other_loaders.py", "raises"], tmp_path)
    check_same(bare, recorded.ending)
    assert bare.code == 1 and "batch_size" in bare.stderr


def test_an_evaluation_that_the_probe_does_not_reach_is_estimated(tmp_path: Path) -> None:
    whole = run_hooked(["validated.py", "2"], tmp_path)
    assert whole.ending.code == 0, whole.ending.stderr
    took = whole.stage("evaluate")["seconds"] / 2
    command = [sys.executable, "-m", "laptime", "predict", "--seconds", "5", "--json", "--"]
    kept = {name: value for name, value in os.environ.items() if name != "LAPTIME_DIR"}
    probed = subprocess.run(
        [*command, sys.executable, str(SCRIPTS / "validated.py"), "20", "long"],
        env=kept | {"OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert probed.returncode == 0, probed.stderr
    found = json.loads(probed.stdout)
    [evaluation] = found["estimated"]
    assert evaluation["name"] == "evaluation"
    assert evaluation["because"] == "not reached yet; the other loader has 40 batches"
    assert took / 2 < evaluation["seconds_each"] < took * 2, (took, evaluation)
    parts = {part["name"]: part["seconds"] for part in found["parts"]}
    assert parts["evaluation"] == pytest.approx(20 * evaluation["seconds_each"])
    assert sum(parts.values()) == pytest.approx(found["total_s"]["mean"])
    [checkpoint] = found["not_seen"]
    assert (checkpoint["name"], checkpoint["bytes"]) == ("checkpoint", 4 * (256 * 512 + 512 + 5130))
