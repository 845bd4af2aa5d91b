"""What the workers share: the data, and how they are asked to train on it.

A long-lived worker: one JSON request a line on stdin, one JSON answer a line on stdout. `benches/src/frameworks.rs`
starts one for each framework and takes turns with them.

    {"workload": {"model": "mlp", "rows": 10000, "batch": 32}, "epochs": 2}
    -> {"wall_s": 0.26, "cpu_s": 0.26, "loss": 0.41}
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np

SIDE = 28
CLASSES = 10
VOCABULARY = 20
EMBEDDING = 32
STATE = 64
PLACES = 64
WIDTH = 128
HEADS = 4
INNER = 512
BLOCKS = 4
RECURRENT = ("rnn", "lstm", "gru")


class Workload(Protocol):
    """One model with its data and optimizer; further requests train it on."""

    def epoch(self) -> float:
        """Trains one epoch and returns its mean loss, so that nothing of it is still being computed."""


def is_regression(model: str) -> bool:
    return model in ("linear", "mlp")


def learning_rate(model: str) -> float:
    """The linear model has plain gradient descent, all others Adam."""
    return 0.01 if model == "linear" else 1e-3


def data(model: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets: numbers, images and their classes, or tokens and those that follow them."""
    random = np.random.default_rng(0)
    if model == "linear":
        x = random.uniform(-1, 1, (rows, 1))
        y = 2 * x + 1
    elif model == "mlp":
        x = random.uniform(-1, 1, (rows, 10))
        y = np.sin(3 * x[:, :1]) + x[:, :1] * x[:, -1:]
    elif model == "cnn":
        y = random.integers(0, CLASSES, rows)
        patterns = random.uniform(0, 1, (CLASSES, SIDE, SIDE))
        x = patterns[y] + 0.3 * random.standard_normal((rows, SIDE, SIDE))
    elif model in RECURRENT or model == "transformer":
        length = PLACES if model == "transformer" else 50
        tokens = random.integers(0, VOCABULARY, (rows, length + 1))
        x, y = tokens[:, :-1], tokens[:, 1:]
    else:
        raise ValueError(f"unknown model {model!r}")
    floats = {np.dtype(np.float64): np.float32, np.dtype(np.int64): np.int32}
    return x.astype(floats[x.dtype]), y.astype(floats[y.dtype])


def serve(engine: str, make: Callable[[str, int, int], Workload]) -> None:
    """Trains what is asked for until the input ends; the epoch that compiles is not timed."""
    print(json.dumps({"engine": engine}), flush=True)
    workloads: dict[str, Workload] = {}
    for line in sys.stdin:
        request = json.loads(line)
        key = json.dumps(request["workload"], sort_keys=True)
        if key not in workloads:
            workloads[key] = make(**request["workload"])
            workloads[key].epoch()
        workload, loss = workloads[key], 0.0
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(request["epochs"]):
            loss = workload.epoch()
        answer = {
            "wall_s": time.perf_counter() - wall,
            "cpu_s": time.process_time() - cpu,
            "loss": loss,
        }
        print(json.dumps(answer), flush=True)
