"""Scripts written like tutorials: the same with hooks as without, and counted right."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from side_by_side import check_same

from .conftest import Ending, Recorded, run_both


@dataclass(frozen=True)
class Fit:
    """What a fit does, by hand."""

    # (steps, samples) of each epoch.
    epochs: list[tuple[int, int]]
    framework: str
    rows: int | None = None
    batch: int | None = None
    parameters: int | None = None
    # Stages that take time in its epochs, and nothing else does.
    stages: set[str] = field(default_factory=set)


KERAS = {"data_wait", "callbacks", "metrics", "train_function"}
LOOP = {"forward", "backward", "optimizer"}
# What takes a moment between the stages of a loop, or none.
IGNORED = {"unaccounted", "after_update", "garbage_collection", "loss", "prepare"}


def keras_fit(count: int, steps: int, samples: int, **known: Any) -> Fit:
    return Fit([(steps, samples)] * count, "keras", **({"stages": KERAS} | known))


def check(recorded: Recorded, bare: Ending, expected: list[Fit]) -> None:
    """The same result, the right numbers, ledgers that close, and times that the script's clock confirms."""
    assert bare.code == 0, bare.stderr[-3000:]
    check_same(bare, recorded.ending)
    assert len(recorded.run.fits) == len(expected)
    for at, fit in enumerate(expected):
        check_fit(recorded, at, fit)
    check_closing(recorded)
    check_clock(recorded)


def check_fit(recorded: Recorded, at: int, expected: Fit) -> None:
    fit, epochs = recorded.run.fits[at], recorded.epochs(at)
    assert [(epoch["steps"], epoch["samples"]) for epoch in epochs] == expected.epochs, at
    assert fit["framework"] == expected.framework, at
    assert fit["framework_version"] and fit["device"] == "cpu", at
    assert fit["rows"] == expected.rows, at
    assert fit["batch"] == expected.batch, at
    assert fit["parameters"] == expected.parameters, at
    warnings = recorded.report["warnings"]
    assert not [one for one in warnings if "hook_off" in str(one)], warnings
    found = {name for epoch in epochs for name, took in epoch["stages"].items() if took > 0}
    assert found - IGNORED == expected.stages, at


def check_closing(recorded: Recorded) -> None:
    total = sum(row["seconds"] for row in recorded.run.ledger)
    assert total == pytest.approx(recorded.run.wall_s, rel=0.001)
    for epoch in recorded.run.epochs:
        assert sum(epoch["stages"].values()) == pytest.approx(epoch["wall_s"], rel=0.001, abs=1e-6)


def check_clock(recorded: Recorded) -> None:
    """Every epoch against the script's own clock, which is read near its begin and its end."""
    assert recorded.clock
    for epoch, clock in zip(recorded.run.epochs, recorded.clock, strict=False):
        found, most, least = epoch["wall_s"], clock["took"], clock.get("least", clock["took"])
        # What kept the thread from its work between two readings only one of the clocks sees.
        slack = 0.002 + clock["ready"] + clock["collected"]
        assert least * 0.98 - slack <= found <= most * 1.02 + slack, (epoch, clock)


def test_three_dataset_sizes_make_three_fits_and_a_law(tmp_path: Path) -> None:
    bare, recorded = run_both(["regression.py"], tmp_path)
    sized = {"batch": 100, "parameters": 5121}
    expected = [keras_fit(4, rows // 100, rows, rows=rows, **sized) for rows in (2000, 4000, 8000)]
    check(recorded, bare, expected)
    law = recorded.report["law"]
    assert (law["x"], law["y"]) == ("rows", "epoch_s")
    assert [x for x, _ in law["points"]] == [2000, 4000, 8000]
    # Three calls of `evaluate` after the fits.
    assert recorded.count("evaluate") == 3
    assert all(epoch["loss"] > 0 for epoch in recorded.run.epochs)
    assert recorded.count("train_function") >= 4 * (20 + 40 + 80)
    assert "train_function is a compiled function" in str(recorded.run).replace("\n  ", " ")


def test_three_batch_sizes_with_validation_make_a_law_of_the_batch(tmp_path: Path) -> None:
    bare, recorded = run_both(["batches.py"], tmp_path)
    sizes = ((30, 67), (60, 34), (120, 17))
    sized = {"rows": 2000, "parameters": 321}
    expected = [keras_fit(3, steps, 2000, batch=batch, **sized) for batch, steps in sizes]
    check(recorded, bare, expected)
    law = recorded.report["law"]
    assert (law["x"], law["y"]) == ("batch", "step_s")
    # The validation after each epoch is no part of it.
    assert recorded.count("evaluate") == 9


def test_pipelines_loops_callbacks_and_odd_fits(tmp_path: Path) -> None:
    scripts = ["pipeline.py", "tape.py", "tape.py+compiled", "slices.py", "callbacks.py", "odd.py"]
    bare, recorded = run_both(["several.py", *scripts], tmp_path)
    million = keras_fit(1, 200, 1_000_000, rows=1_000_000, batch=5000, parameters=13)
    asked = keras_fit(3, 20, 100_000, rows=100_000, batch=5000, parameters=13)
    tape = {"rows": 200, "batch": 32, "parameters": 3284}
    sliced = {"rows": 90, "batch": 30, "stages": LOOP}
    watched = {"checkpoint", "tensorboard"}
    odd = {"rows": 250, "batch": 25, "parameters": 19}
    within = Fit([(10, 250), (3, 75)], "keras", stages=KERAS | {"evaluate"}, **odd)
    failed = Fit([(10, 250), (4, 100)], "keras", stages=KERAS, **odd)
    expected = [
        million,
        asked,
        Fit([(7, 200)] * 3, "tensorflow", stages=LOOP | {"data_wait"}, **tape),
        Fit([(7, 200)] * 3, "tensorflow", stages={"data_wait", "train_step"}, **tape),
        Fit([(3, 90)] * 3, "tensorflow", parameters=33, **sliced),
        Fit([(3, 90)] * 3, "tensorflow", parameters=65, **sliced),
        keras_fit(3, 10, 320, rows=320, batch=32, parameters=113, stages=KERAS | watched),
        keras_fit(2, 10, 250, **odd),
        keras_fit(2, 10, 250, **odd, stages=KERAS | LOOP),
        keras_fit(2, 10, 250, **odd),
        keras_fit(2, 10, 250, **odd),
        within,
        failed,
        keras_fit(2, 10, 250, **odd),
    ]
    check(recorded, bare, expected)
    # Three epochs of each of two loops and of a fit with callbacks end with a test or a validation, two of
    # another fit too, and one of those has a second within it.
    assert recorded.count("evaluate") == 12
    compiled = [fit["compiled_functions"] for fit in recorded.run.fits]
    assert compiled[2:5] == [[], ["train_step"], []]


def test_on_torch_nothing_is_counted_twice(tmp_path: Path) -> None:
    bare, recorded = run_both(["torch_backend.py"], tmp_path)
    stages = KERAS | {"forward", "backward", "optimizer"}
    assert all(fit["framework_version"].startswith("3.") for fit in recorded.run.fits)
    sized = {"batch": 32, "parameters": 41, "stages": stages}
    expected = [
        keras_fit(3, 4, 100, rows=100, **sized),
        keras_fit(3, 7, 200, rows=200, **sized),
    ]
    check(recorded, bare, expected)
    assert recorded.count("evaluate") == 7


def test_a_callback_records_its_fit_without_laptime_run(tmp_path: Path) -> None:
    bare, recorded = run_both(["callback.py"], tmp_path, hooked=False)
    check(recorded, bare, [keras_fit(2, 3, 150, rows=150, batch=50, parameters=19)])
    assert recorded.count("evaluate") == 2


def test_estimators_of_scikit_learn_are_fits(tmp_path: Path) -> None:
    bare, recorded = run_both(["estimators.py"], tmp_path)
    assert bare.code == 0, bare.stderr
    check_same(bare, recorded.ending)
    fits = [(fit["label"], fit["rows"], fit["framework"]) for fit in recorded.run.fits]
    assert fits == [
        ("Pipeline(StandardScaler, LogisticRegression)", 300, "sklearn"),
        ("GridSearchCV(LogisticRegression)", 200, "sklearn"),
        ("GridSearchCV(Pipeline(StandardScaler, LogisticRegression))", 300, "sklearn"),
        ("BaggingClassifier(LogisticRegression)", 300, "sklearn"),
        ("cross_validate(LogisticRegression)", 300, "sklearn"),
        ("SGDClassifier", 300, "sklearn"),
        ("LogisticRegression", 100, "sklearn"),
    ]
    assert recorded.count("fit") == 6
    # A `partial_fit` is a step; the loop around those over the rows counts epochs.
    assert [(epoch["steps"], epoch["samples"]) for epoch in recorded.epochs(5)] == [(6, 300)] * 3
    assert recorded.count("partial_fit") == 18
    # What a search starts to fit in other processes trains nothing of its own.
    assert len({epoch["fit"] for epoch in recorded.run.epochs}) == 1
    assert all(fit["framework_version"] for fit in recorded.run.fits)
    check_closing(recorded)


def test_what_replicas_of_a_strategy_exchange_is_said_to_be_unseen(tmp_path: Path) -> None:
    bare, recorded = run_both(["mirrored.py"], tmp_path)
    assert bare.code == 0, bare.stderr[-3000:]
    check_same(bare, recorded.ending)
    (trouble,) = [one["trouble"] for one in recorded.report["warnings"] if "trouble" in one]
    assert trouble["what"] == "collectives_not_seen"
    assert "MirroredStrategy" in trouble["because"]
    assert [epoch["steps"] for epoch in recorded.epochs(0)] == [4, 4]
