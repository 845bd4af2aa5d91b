"""What is recorded of how a Keras fit is computed."""

from __future__ import annotations

from pathlib import Path

from .conftest import run_both


def test_how_a_fit_is_compiled_and_what_its_dataset_is_made_of_are_recorded(tmp_path: Path) -> None:
    bare, recorded = run_both(["pipeline.py"], tmp_path)
    assert bare.code == 0, bare.stderr[-3000:]
    assert recorded.ending.stdout == bare.stdout
    first, second = (fit["settings"] for fit in recorded.run.fits)
    assert {name: value for name, value in first.items() if name.startswith("keras.")} == {
        "keras.dtype": "float32",
        "keras.jit_compile": "off",
        "keras.layers": "Dense",
        "keras.run_eagerly": "off",
        "keras.steps_per_execution": "1",
    }
    assert first["tensorflow.data"] == "range batch map prefetch filter"
    assert second["tensorflow.data"] == "range batch map prefetch repeat"


def test_a_fit_that_is_resumed_or_may_end_early_says_so(tmp_path: Path) -> None:
    bare, recorded = run_both(["endings.py"], tmp_path)
    assert bare.code == 0, bare.stderr[-3000:]
    assert recorded.ending.stdout == bare.stdout
    found = [
        (fit["planned_epochs"], fit["epochs"], fit["patience"], fit["plan_source"])
        for fit in recorded.run.fits
    ]
    assert found == [
        (3, 3, None, None),
        (3, 3, 2, None),
        (3, 3, 4, None),
        (3, 3, None, "at most epochs=3"),
    ]
