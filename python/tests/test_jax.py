"""JAX without Keras: jitted steps are steps, loops around them epochs, and the script's waits are the device's."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import laptime
import pytest
from installs import clean
from side_by_side import check_same, run

pytest.importorskip("jax")

LAPTIME = str(Path(sys.executable).parent / "laptime")

DATA = """
import jax
import jax.numpy as jnp
import numpy as np

rows = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
labels = rows[:, :1]

def loss_of(weights, x, y):
    return jnp.mean((x @ weights - y) ** 2)
"""
PLAIN = """
@jax.jit
def train_step(weights, x, y):
    loss, gradient = jax.value_and_grad(loss_of)(weights, x, y)
    return weights - 0.1 * gradient, loss

@jax.jit
def eval_step(weights):
    return loss_of(weights, rows, labels)

weights = jnp.zeros((4, 1))
for epoch in range(3):
    for at in range(0, 64, 16):
        weights, loss = train_step(weights, rows[at : at + 16], labels[at : at + 16])
    print(epoch, round(float(loss), 4), round(float(eval_step(weights)), 4))
print(train_step.lower(weights, rows, labels).compile() is not None, train_step.__name__)
print(jax.grad(jax.jit(lambda x: x * x))(3.0), jax.vmap(jax.jit(lambda x: x + 1))(jnp.arange(3)))
"""
OPTAX = """
import functools
import optax

optimizer = optax.adam(0.01)

@functools.partial(jax.jit, static_argnames=("times",))
def update(weights, state, batch, times):
    gradient = jax.grad(loss_of)(weights, batch["x"], batch["y"])
    changes, state = optimizer.update(gradient, state, weights)
    return optax.apply_updates(weights, changes), state

weights = jnp.zeros((4, 1))
state = optimizer.init(weights)
for step in range(25):
    weights, state = update(weights, state, {"x": rows, "y": labels}, times=1)
weights.block_until_ready()
print(np.asarray(weights).shape)
"""
FLAX = """
import optax
from flax import nnx

model = nnx.Linear(4, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)

@nnx.jit
def train_step(model, optimizer, x, y):
    loss, gradient = nnx.value_and_grad(lambda model: jnp.mean((model(x) - y) ** 2))(model)
    optimizer.update(model, gradient)
    return loss

for epoch in range(2):
    for at in range(0, 64, 32):
        loss = train_step(model, optimizer, rows[at : at + 32], labels[at : at + 32])
print(loss.shape)
"""


def watch(source: str, folder: Path) -> dict[str, Any]:
    """Runs a script bare and under `laptime run`: the same output, and no warning."""
    (folder / "script.py").write_text(DATA + source)
    environment = clean() | {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    words = [sys.executable, "script.py"]
    hooked = run([LAPTIME, "run", "--", *words], environment, folder)
    check_same(run(words, environment, folder), hooked)
    report = laptime.load(dir=folder / ".laptime").to_dict()
    assert not [one for one in report["warnings"] if "trouble" in one], report["warnings"]
    return report


def test_a_jitted_step_is_a_step_and_a_loop_around_it_an_epoch(tmp_path: Path) -> None:
    report = watch(PLAIN, tmp_path)
    (fit,) = report["fits"]
    assert (fit["framework"], fit["label"], fit["device"]) == ("jax", "train_step", "cpu")
    assert [epoch["steps"] for epoch in report["epochs"]] == [4, 4, 4]
    assert [epoch["samples"] for epoch in report["epochs"]] == [64, 64, 64]
    # What a step computes is waited for inside its epoch.
    assert {"train_step", "device_wait", "evaluate"} <= set(fit["stages"])
    assert all("device_wait" in epoch["stages"] for epoch in report["epochs"])
    assert fit["compiled_functions"] == ["train_step"] and fit["planned_epochs"] == 3


def test_steps_without_epochs_have_laps_with_optax(tmp_path: Path) -> None:
    if find_spec("optax") is None:
        pytest.skip("no optax here")
    (fit,) = watch(OPTAX, tmp_path)["fits"]
    assert (fit["label"], fit["steps"], fit["planned_steps"]) == ("update", 25, 25)


def test_jitted_functions_of_flax_are_steps(tmp_path: Path) -> None:
    if find_spec("flax") is None:
        pytest.skip("no flax here")
    report = watch(FLAX, tmp_path)
    assert [epoch["steps"] for epoch in report["epochs"]] == [2, 2]
    assert report["fits"][0]["label"] == "train_step"


def test_an_error_in_a_jitted_function_reads_as_without_hooks(tmp_path: Path) -> None:
    broken = (
        "@jax.jit\ndef train_step(x):\n    return jax.grad(lambda x: x @ jnp.ones((7, 7)))(x)\n"
    )
    report = watch(broken + "for step in range(3):\n    train_step(jnp.zeros((4, 4)))\n", tmp_path)
    assert report["run"]["status"] == "failed"
