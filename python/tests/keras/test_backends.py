"""Keras on each backend, its parts in loops for another, and TensorFlow without an optimizer."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from .conftest import run_both
from .test_scripts import KERAS, LOOP, Fit, check, keras_fit

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX")


@needs_jax
def test_on_jax_steps_and_epochs_end_when_they_are_computed(tmp_path: Path) -> None:
    bare, recorded = run_both(["jax_backend.py"], tmp_path)
    sized = {"rows": 250, "batch": 25, "parameters": 1_050_625}
    # Loss and metrics are pulled on a thread of the callbacks, unless one of those wants them.
    stages = KERAS - {"metrics"} | {"device_wait"}
    expected = [
        *[keras_fit(3, 10, 250, **sized, stages=stages)] * 4,
        keras_fit(3, 10, 250, **sized, stages=KERAS | {"device_wait"}),
        Fit(
            [(5, 250)] * 3,
            "keras",
            rows=250,
            batch=50,
            parameters=1_050_625,
            stages={"train_function"},
        ),
    ]
    check(recorded, bare, expected)
    assert recorded.count("evaluate") == 3
    compiled = [fit["compiled_functions"] for fit in recorded.run.fits]
    assert compiled == [["train_function"]] * 3 + [[]] + [["train_function"]] * 2
    # A fit that nobody waits for takes as long as one whose every step is waited for.
    ran_ahead, waited = (
        sum(epoch["wall_s"] for epoch in recorded.epochs(fit)[1:]) for fit in (0, 4)
    )
    assert ran_ahead > 0.4 * waited


@pytest.mark.parametrize("backend", ["tensorflow", "torch", pytest.param("jax", marks=needs_jax)])
def test_every_batch_that_is_trained_on_is_a_step(
    tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", backend)
    bare, recorded = run_both(["by_batch.py"], tmp_path)
    stages = {"train_function"} | (LOOP if backend == "torch" else set())
    expected = [
        Fit([(3, 90)] * 3, "keras", rows=90, batch=30, parameters=33, stages=stages),
        Fit(
            [(3, 90)] * 2, "keras", rows=90, batch=40, parameters=33, stages=stages | {"data_wait"}
        ),
    ]
    steps_only = recorded.run.fits[2]
    assert len(recorded.run.fits) == 3
    assert (steps_only["framework"], steps_only["label"]) == ("keras", "Sequential")
    assert not [epoch for epoch in recorded.epochs(2) if epoch["kind"] == "epoch"]
    assert recorded.count("train_function") == 3 * 3 + 2 * 3 + 40
    check_first(recorded, bare, expected)


def check_first(recorded, bare, expected) -> None:  # noqa: ANN001
    """As `check`, of the fits that have epochs."""
    import dataclasses

    fits = recorded.run.fits[: len(expected)]
    kept = {fit["index"] for fit in fits}
    epochs = [epoch for epoch in recorded.run.epochs if epoch["fit"] in kept]
    run = _Part(recorded.run, fits, epochs)
    check(dataclasses.replace(recorded, run=run), bare, expected)


class _Part:
    """A run with some of its fits."""

    def __init__(self, run, fits, epochs) -> None:  # noqa: ANN001
        self._run, self.fits, self.epochs = run, fits, epochs

    def __getattr__(self, name: str):  # noqa: ANN204
        return getattr(self._run, name)


def test_a_keras_optimizer_trains_in_a_loop_for_torch(tmp_path: Path) -> None:
    bare, recorded = run_both(["keras_in_torch.py"], tmp_path)
    sized = {"rows": 320, "batch": 32, "parameters": 9, "stages": LOOP | {"data_wait"}}
    check(recorded, bare, [Fit([(10, 320)] * 3, "torch", **sized)])
    assert recorded.run.fits[0]["settings"]["optimizer"] == "Adam"


def test_variables_that_a_script_assigns_itself_are_trained(tmp_path: Path) -> None:
    bare, recorded = run_both(["by_hand.py"], tmp_path)
    expected = [
        Fit([(3, 96)] * 3, "tensorflow", rows=96, batch=32, stages=LOOP | {"data_wait"}),
        Fit([(4, 96)] * 2, "tensorflow", rows=96, batch=24, stages={"train_step"}),
    ]
    check(recorded, bare, expected)


def test_two_compiled_functions_of_one_fit_are_both_kept(tmp_path: Path) -> None:
    bare, recorded = run_both(["functions.py"], tmp_path)
    assert recorded.ending.code == bare.code == 0, recorded.ending.stderr
    assert recorded.ending.stdout == bare.stdout
    (fit,) = recorded.run.fits
    assert fit["compiled_functions"] == ["warm_up_step", "train_step"]
    assert (fit["framework"], fit["parameters"]) == ("tensorflow", 49)
    assert recorded.count("warm_up_step") == 20
    assert recorded.count("train_step") == 40


def test_what_is_around_the_steps_has_its_own_stages(tmp_path: Path) -> None:
    bare, recorded = run_both(["stages.py"], tmp_path)
    check(recorded, bare, [keras_fit(4, 50, 3200, rows=3200, batch=64, parameters=66_049)])
    slept = json.loads((tmp_path / "truth.json.slept").read_text())
    in_epochs = sum(epoch["stages"]["callbacks"] for epoch in recorded.run.epochs)
    assert slept["callbacks"] <= in_epochs <= slept["callbacks"] * 1.2 + 0.1
    # The validation is prepared before it is called, after the pass that it validates.
    assert recorded.seconds("evaluate") >= slept["evaluate"] >= 0.5
    assert recorded.count("evaluate") == 4
    assert all("evaluate" not in epoch["stages"] for epoch in recorded.run.epochs)
    walls = sum(epoch["wall_s"] for epoch in recorded.run.epochs)
    assert sum(epoch["stages"]["unaccounted"] for epoch in recorded.run.epochs) < 0.05 * walls
