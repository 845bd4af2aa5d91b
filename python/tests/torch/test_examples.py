"""The examples of the documentation train, and laptime sees what they do."""

from __future__ import annotations

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
