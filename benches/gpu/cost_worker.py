"""One training process of `cost.py`: trains a block of steps whenever it is told to.

python cost_worker.py PORT NAME MODEL WAY
"""

from __future__ import annotations

import contextlib
import gc
import socket
import sys
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS = {"resnet18": 60, "small": 400}


class Ready(Dataset):
    """Batches that are on the device already: what is timed is the step."""

    def __init__(self, batch: tuple[torch.Tensor, torch.Tensor], steps: int) -> None:
        self.batch, self.steps = batch, steps

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, at: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.batch


def made(model: str) -> tuple[nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    if model == "resnet18":
        import torchvision

        inputs = torch.randn(8, 3, 224, 224, device="cuda")
        return torchvision.models.resnet18().cuda(), (
            inputs,
            torch.randint(0, 1000, (8,), device="cuda"),
        )
    layers = [part for _ in range(3) for part in (nn.Linear(64, 64), nn.ReLU())]
    batch = torch.randn(64, 64, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
    return nn.Sequential(*layers, nn.Linear(64, 10)).cuda(), batch


def trainer(name: str, way: str) -> Callable[[], None]:
    model, batch = made(name)
    loader = DataLoader(Ready(batch, STEPS[name]), batch_size=None)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    criterion = nn.CrossEntropyLoss()
    around = contextlib.nullcontext
    if way == "traceml":
        import traceml_ai

        traceml_ai.init(mode="auto")
        around = lambda: traceml_ai.trace_step(model)  # noqa: E731

    def train() -> None:
        for inputs, labels in loader:
            with around():
                optimizer.zero_grad()
                loss = criterion(model(inputs), labels)
                loss.backward()
                optimizer.step()
            if way == "synchronize":
                torch.cuda.synchronize()
        torch.cuda.synchronize()

    def profiled() -> None:
        with torch.profiler.profile():
            train()

    return profiled if way == "profiler" else train


def main() -> None:
    port, name, model, way = int(sys.argv[1]), *sys.argv[2:5]
    train = trainer(model, way)
    for _ in range(2):
        train()
    gc.disable()
    with socket.create_connection(("127.0.0.1", port)) as driver, driver.makefile("rw") as told:
        print(name, file=told, flush=True)
        while told.readline():
            gc.collect()
            wall, cpu = time.perf_counter(), time.thread_time()
            train()
            wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
            print(wall / STEPS[model] * 1e6, cpu / STEPS[model] * 1e6, file=told, flush=True)


if __name__ == "__main__":
    main()
