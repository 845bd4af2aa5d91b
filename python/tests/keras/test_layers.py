"""`laptime run --layers` of a `fit`: layers where it runs eagerly, else why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import laptime
import pytest
from side_by_side import both, check_same

from .conftest import HOOK, run_script


def recorded(words: list[str], backend: str, folder: Path) -> dict[str, Any]:
    """The report of a script that prints and ends as it does without us."""
    on = {"KERAS_BACKEND": backend}
    asked = {"LAPTIME_DIR": str(folder), "LAPTIME_QUIET": "1", "LAPTIME_LAYERS": "1"}
    ending, bare = both(
        lambda: run_script(["layers.py", *words], on | {"LAPTIME_DISABLED": "1"}),
        lambda: run_script(["layers.py", *words], on | asked | {"PYTHONPATH": HOOK}),
    )
    assert bare.code == 0, bare.stderr
    check_same(bare, ending)
    return laptime.load(dir=folder).to_dict()


@pytest.mark.parametrize(("words", "backend"), [(["eager"], "tensorflow"), ([], "torch")])
def test_the_planted_layer_is_first_where_the_fit_runs_eagerly(
    words: list[str], backend: str, tmp_path: Path
) -> None:
    pytest.importorskip(backend)
    layers = recorded(words, backend, tmp_path)["layers"]
    assert layers[0]["name"] == "planted" and layers[0]["forward_s"] > 0.004
    assert layers[0]["steps"] >= 3 and layers[0]["backward_s"] is None
    dense = next(layer for layer in layers if layer["name"] == "dense")
    assert dense["kind"] == "Dense" and dense["parameters"] == 16 * 32 + 32
    assert dense["flops"] == 2 * 8 * 16 * 32


def test_a_compiled_fit_says_why_its_layers_are_not_timed(tmp_path: Path) -> None:
    report = recorded([], "tensorflow", tmp_path)
    assert report["layers"] is None
    reasons = [warning.get("trouble", {}).get("because", "") for warning in report["warnings"]]
    assert any("run_eagerly=True" in reason for reason in reasons), reasons
