"""The examples of the documentation train, and laptime sees what they do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import run_hooked

pytest.importorskip("PIL")

EXAMPLES = Path(__file__).parents[3] / "examples"
SMALL = ["--images", "20", "--batch", "8", "--epochs", "2"]


@pytest.mark.parametrize(("example", "workers"), [("slow_loader.py", 0), ("fast_loader.py", 1)])
def test_an_image_classifier_is_seen_whole(example: str, workers: int, tmp_path: Path) -> None:
    data = ["--data", str(tmp_path / "shapes")]
    recorded = run_hooked([str(EXAMPLES / example), *SMALL, *data], tmp_path)
    assert recorded.ending.code == 0, recorded.ending.stderr
    seen = [(epoch["steps"], epoch["samples"]) for epoch in recorded.epochs]
    assert seen == [(3, 20), (3, 20)]
    assert len(recorded.report["workers"] or []) == workers * 2


def test_what_a_script_measures_is_with_its_epochs_and_in_charts(tmp_path: Path) -> None:
    words = [str(EXAMPLES / "accuracy.py"), "--rows", "200", "--epochs", "3"]
    recorded = run_hooked(words, tmp_path)
    assert recorded.ending.code == 0, recorded.ending.stderr
    measured = [sorted(epoch["metrics"]) for epoch in recorded.epochs]
    assert measured == [["accuracy", "loss", "validation_accuracy"]] * 3
    runs, charts = str(tmp_path / "runs"), tmp_path / "charts"
    command = [sys.executable, "-m", "laptime", "report", "--dir", runs, "--svg", str(charts)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    accuracy = (charts / "accuracy-over-time.svg").read_text()
    assert "validation accuracy" in accuracy and (charts / "loss-over-time.svg").exists()
