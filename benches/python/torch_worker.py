"""One training process of `torch_step.py`: trains a block of steps whenever it is told to.

    python torch_worker.py PORT NAME STEPS [SPAN]

With SPAN, each of the step's five parts stands in a `with` of that kind.
"""

from __future__ import annotations

import contextlib
import gc
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Ready(Dataset):
    """Batches that are there already: what is timed is the step."""

    def __init__(self, steps: int) -> None:
        torch.manual_seed(0)
        self.batch = torch.randn(64, 32), torch.randint(0, 10, (64,))
        self.steps = steps

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, at: int) -> tuple[Any, Any]:
        return self.batch


def span_of(kind: str) -> Callable[[], Any]:
    """What makes the context manager around a part of the step."""
    if kind == "stage":
        import laptime

        stage = laptime.stage("part")
        return lambda: stage
    if kind == "record_function":
        return lambda: torch.profiler.record_function("part")
    if kind == "lightning":
        from lightning.pytorch.profilers import SimpleProfiler

        profiler = SimpleProfiler()
        return lambda: profiler.profile("part")
    empty = contextlib.nullcontext()
    return lambda: empty


def trainer(steps: int, kind: str | None) -> Callable[[], None]:
    """A training loop over a loader, with or without spans."""
    loader = DataLoader(Ready(steps), batch_size=None)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    criterion = nn.CrossEntropyLoss()

    def train() -> None:
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()

    def train_with_traceml() -> None:
        for inputs, labels in loader:
            with traceml_ai.trace_step(model):
                optimizer.zero_grad()
                loss = criterion(model(inputs), labels)
                loss.backward()
                optimizer.step()

    def train_with_spans() -> None:
        for inputs, labels in loader:
            with span():
                optimizer.zero_grad()
            with span():
                output = model(inputs)
            with span():
                loss = criterion(output, labels)
            with span():
                loss.backward()
            with span():
                optimizer.step()

    if kind is None:
        return train
    if kind == "traceml":
        import traceml_ai

        traceml_ai.init(mode="auto")
        return train_with_traceml
    span = span_of(kind)
    return train_with_spans


def main() -> None:
    port, name, steps = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(1)
    train = trainer(steps, sys.argv[4] if len(sys.argv) > 4 else None)
    train()
    gc.disable()
    with socket.create_connection(("127.0.0.1", port)) as driver, driver.makefile("rw") as told:
        print(name, file=told, flush=True)
        while told.readline():
            gc.collect()
            wall, cpu = time.perf_counter(), time.thread_time()
            train()
            wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
            print(wall / steps * 1e6, cpu / steps * 1e6, file=told, flush=True)


if __name__ == "__main__":
    main()
