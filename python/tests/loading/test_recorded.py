"""Passes over a Loader are on record in every loop that takes one; torch's own are in python/tests/torch."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import laptime
import pytest
from side_by_side import run

LAPTIME = str(Path(sys.executable).parent / "laptime")


def watch(source: str, table: Path, folder: Path) -> dict[str, Any]:
    """Runs a script under `laptime run` and returns its report."""
    (folder / "train.py").write_text(textwrap.dedent(source))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAPTIME_")}
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
    environment = kept | quiet | {"LAPTIME_DIR": str(folder / "runs")}
    words = [LAPTIME, "run", "--", sys.executable, "train.py", str(table)]
    ended = run(words, environment, folder)
    assert ended.code == 0, ended.stderr
    return laptime.load(dir=folder / "runs").to_dict()


def check(report: dict[str, Any], *, waits: int) -> None:
    """Three epochs of all 1000 rows in 20 batches."""
    assert [epoch["steps"] for epoch in report["epochs"]] == [20] * 3
    assert [epoch["samples"] for epoch in report["epochs"]] == [1000] * 3
    waited = next(row for row in report["ledger"] if row["stage"] == "data_wait")
    assert waited["count"] >= waits, waited
    assert report["warnings"] == []


def test_a_loop_of_jax_is_on_record_with_its_waits(table: Path, tmp_path: Path) -> None:
    pytest.importorskip("jax")
    source = """
        import sys, jax, laptime
        import jax.numpy as jnp

        def loss_of(weights, x, y):
            return jnp.mean((x @ weights / 1000 - y / 1000) ** 2)

        @jax.jit
        def train_step(weights, x, y):
            loss, gradient = jax.value_and_grad(loss_of)(weights, x, y)
            return weights - 0.1 * gradient, loss

        loader = laptime.Loader(sys.argv[1], 50, True)
        assert loader.output == "numpy"
        weights = jnp.zeros(3)
        for epoch in range(3):
            for x, y in loader:
                weights, loss = train_step(weights, x, y)
            print(epoch, float(loss))
    """
    report = watch(source, table, tmp_path)
    check(report, waits=60)
    assert report["fits"][0]["settings"].get("loader") == "laptime.Loader"


def test_a_loop_of_tensorflow_is_on_record_with_its_waits(table: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    source = """
        import sys, laptime
        import tensorflow as tf

        loader = laptime.Loader(sys.argv[1], 50, True)
        weights = tf.Variable(tf.zeros((3, 1)))
        for epoch in range(3):
            for x, y in loader:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((x @ weights - y[:, None].astype("float32")) ** 2)
                weights.assign_sub(1e-9 * tape.gradient(loss, weights))
    """
    check(watch(source, table, tmp_path), waits=60)


def test_a_fit_of_keras_is_on_record_with_its_rows(table: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    source = """
        import os, sys
        os.environ["KERAS_BACKEND"] = "tensorflow"
        import keras, laptime
        loader = laptime.Loader(sys.argv[1], 50, True)
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(loader.as_tf_dataset(), epochs=3, verbose=0)
    """
    check(watch(source, table, tmp_path), waits=1)
