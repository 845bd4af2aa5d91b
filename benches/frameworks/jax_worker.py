"""Trains the reference models in JAX, the whole step in one `jax.jit` whose state is donated.

The data stays on the device and a step gathers its rows; the sum of losses is part of the state, so that nothing is
read before the epoch's end.
"""

from __future__ import annotations

import math
import os
from functools import partial
from typing import Any

# One thread: XLA makes as many as there are CPUs to run on, and dispatches from another.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
os.environ["NPROC"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn
from serve import (
    BLOCKS,
    CLASSES,
    EMBEDDING,
    HEADS,
    INNER,
    SIDE,
    STATE,
    VOCABULARY,
    WIDTH,
    data,
    is_regression,
    learning_rate,
    serve,
)

jax.config.update("jax_cpu_enable_async_dispatch", False)

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
BETAS = (0.9, 0.999)
EPSILON = 1e-8


class Start:
    """Weights as PyTorch starts them."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def uniform(self, fan_in: int, *shape: int) -> np.ndarray:
        bound = 1 / math.sqrt(fan_in)
        return self.random.uniform(-bound, bound, shape).astype(np.float32)

    def normal(self, *shape: int) -> np.ndarray:
        return self.random.standard_normal(shape).astype(np.float32)

    def dense(self, inputs: int, outputs: int, fan_in: int | None = None) -> dict[str, Any]:
        fan_in = fan_in or inputs
        return {"w": self.uniform(fan_in, inputs, outputs), "b": self.uniform(fan_in, outputs)}

    def norm(self) -> dict[str, Any]:
        return {"scale": np.ones(WIDTH, np.float32), "shift": np.zeros(WIDTH, np.float32)}

    def block(self) -> dict[str, Any]:
        return {
            "before_attention": self.norm(),
            "attention": self.dense(WIDTH, 3 * WIDTH),
            "attended": self.dense(WIDTH, WIDTH),
            "before_inner": self.norm(),
            "widen": self.dense(WIDTH, INNER),
            "narrow": self.dense(INNER, WIDTH),
        }

    def model(self, model: str, length: int) -> dict[str, Any]:
        if model == "linear":
            return {"dense": self.dense(1, 1)}
        if model == "mlp":
            return {"hidden": self.dense(10, 64), "dense": self.dense(64, 1)}
        if model == "cnn":
            kernel = {"w": self.uniform(9, 3, 3, 1, 32), "b": self.uniform(9, 32)}
            return {"kernel": kernel, "dense": self.dense(32 * 13 * 13, CLASSES)}
        if model == "transformer":
            return {
                "tokens": self.normal(VOCABULARY, WIDTH),
                "places": self.normal(length, WIDTH),
                "blocks": [self.block() for _ in range(BLOCKS)],
                "norm": self.norm(),
                "dense": self.dense(WIDTH, VOCABULARY),
            }
        return {
            "tokens": self.normal(VOCABULARY, EMBEDDING),
            "input": self.dense(EMBEDDING, GATES[model] * STATE, STATE),
            "state": self.dense(STATE, GATES[model] * STATE, STATE),
            "dense": self.dense(STATE, VOCABULARY),
        }


def dense(weights: Any, x: Any) -> Any:
    return x @ weights["w"] + weights["b"]


def norm(weights: Any, x: Any) -> Any:
    x = x - x.mean(-1, keepdims=True)
    x = x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    return x * weights["scale"] + weights["shift"]


def cnn(weights: Any, x: Any) -> Any:
    layout = ("NHWC", "HWIO", "NHWC")
    x = lax.conv_general_dilated(
        x, weights["kernel"]["w"], (1, 1), "VALID", dimension_numbers=layout
    )
    x = nn.relu(x + weights["kernel"]["b"])
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return dense(weights["dense"], x.reshape(len(x), -1))


def rnn_cell(weights: Any, h: Any, gates: Any) -> tuple[Any, Any]:
    h = jnp.tanh(gates + dense(weights, h))
    return h, h


def lstm_cell(weights: Any, carry: Any, gates: Any) -> tuple[Any, Any]:
    h, c = carry
    i, f, g, o = jnp.split(gates + dense(weights, h), 4, axis=-1)
    c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
    h = nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def gru_cell(weights: Any, h: Any, gates: Any) -> tuple[Any, Any]:
    r, z, n = jnp.split(gates, 3, axis=-1)
    of_r, of_z, of_n = jnp.split(dense(weights, h), 3, axis=-1)
    n = jnp.tanh(n + nn.sigmoid(r + of_r) * of_n)
    z = nn.sigmoid(z + of_z)
    h = (1 - z) * n + z * h
    return h, h


CELLS = {"rnn": rnn_cell, "lstm": lstm_cell, "gru": gru_cell}


def recurrent(model: str, weights: Any, tokens: Any) -> Any:
    gates = dense(weights["input"], weights["tokens"][tokens])
    h = jnp.zeros((len(tokens), STATE))
    start = (h, h) if model == "lstm" else h
    cell = partial(CELLS[model], weights["state"])
    _, states = lax.scan(cell, start, gates.swapaxes(0, 1))
    return dense(weights["dense"], states.swapaxes(0, 1))


def attention(weights: Any, x: Any) -> Any:
    rows, length, _ = x.shape
    parts = dense(weights["attention"], x).reshape(rows, length, 3, HEADS, WIDTH // HEADS)
    query, key, value = jnp.moveaxis(parts, 2, 0)
    x = nn.dot_product_attention(query, key, value, is_causal=True)
    return dense(weights["attended"], x.reshape(rows, length, WIDTH))


def transformer(weights: Any, tokens: Any) -> Any:
    x = weights["tokens"][tokens] + weights["places"]
    for block in weights["blocks"]:
        x = x + attention(block, norm(block["before_attention"], x))
        inner = nn.relu(dense(block["widen"], norm(block["before_inner"], x)))
        x = x + dense(block["narrow"], inner)
    return dense(weights["dense"], norm(weights["norm"], x))


def outputs(model: str, weights: Any, x: Any) -> Any:
    if model == "linear":
        return dense(weights["dense"], x)
    if model == "mlp":
        return dense(weights["dense"], nn.relu(dense(weights["hidden"], x)))
    if model == "cnn":
        return cnn(weights, x)
    return transformer(weights, x) if model == "transformer" else recurrent(model, weights, x)


def loss_of(model: str, weights: Any, x: Any, y: Any) -> Any:
    given = outputs(model, weights, x)
    if is_regression(model):
        return ((given - y) ** 2).mean()
    chosen = jnp.take_along_axis(nn.log_softmax(given), y[..., None], axis=-1)
    return -chosen.mean()


def updated(model: str, state: Any, gradients: Any) -> Any:
    """The state after a step of gradient descent or of Adam."""
    lr, map_all = learning_rate(model), jax.tree.map
    if model == "linear":
        return {**state, "weights": map_all(lambda w, g: w - lr * g, state["weights"], gradients)}
    step, (first, second) = state["step"] + 1, BETAS
    mean = map_all(lambda m, g: first * m + (1 - first) * g, state["mean"], gradients)
    square = map_all(lambda s, g: second * s + (1 - second) * g * g, state["square"], gradients)
    size, root = lr / (1 - first**step), jnp.sqrt(1 - second**step)
    change = map_all(lambda m, s: size * m / (jnp.sqrt(s) / root + EPSILON), mean, square)
    weights = map_all(lambda w, c: w - c, state["weights"], change)
    return {**state, "weights": weights, "mean": mean, "square": square, "step": step}


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def train_step(model: str, state: Any, x: Any, y: Any, chosen: Any) -> Any:
    of_weights = partial(loss_of, model)
    loss, gradients = jax.value_and_grad(of_weights)(state["weights"], x[chosen], y[chosen])
    state = updated(model, state, gradients)
    return {**state, "total": state["total"] + loss * len(chosen)}


class JaxWorkload:
    """One model with its data and optimizer."""

    def __init__(self, model: str, rows: int, batch: int) -> None:
        x, y = data(model, rows)
        self.model, self.rows, self.batch = model, rows, batch
        self.x = jnp.asarray(x.reshape(rows, SIDE, SIDE, 1) if model == "cnn" else x)
        self.y = jnp.asarray(y)
        weights = jax.tree.map(jnp.asarray, Start().model(model, x.shape[1]))
        self.state = {"weights": weights}
        if model != "linear":
            for moment in ("mean", "square"):
                self.state[moment] = jax.tree.map(jnp.zeros_like, weights)
            self.state["step"] = jnp.asarray(0.0)
        self.random = np.random.default_rng(1)

    def epoch(self) -> float:
        order = self.random.permutation(self.rows).astype(np.int32)
        state = {**self.state, "total": np.float32(0)}
        for start in range(0, self.rows, self.batch):
            chosen = order[start : start + self.batch]
            state = train_step(self.model, state, self.x, self.y, chosen)
        total = float(state.pop("total"))
        self.state = jax.block_until_ready(state)
        return total / self.rows


if __name__ == "__main__":
    serve(f"JAX {jax.__version__} jit", JaxWorkload)
