"""What the hooks cost in a real small PyTorch step: `python benches/python/torch_step.py [PAIRS [STEPS]]`.

One MLP step of about 130 us, in alternating pairs in one process: bare and with the hooks on, the hooks
switched by putting torch's own functions back. Beside it: a stage by hand, `record_function` with the
profiler off and, where installed, Lightning's SimpleProfiler and traceml-ai.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 8
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
SPANS = 5
# A span costs far less than a busy machine's noise: more pairs find a quiet moment.
SPAN_PAIRS = 3 * PAIRS


def main() -> None:
    folder = tempfile.TemporaryDirectory()
    os.environ.setdefault("LAPTIME_DIR", folder.name)
    os.environ.setdefault("LAPTIME_QUIET", "1")
    import torch

    torch.set_num_threads(1)
    print(
        f"torch {torch.__version__}, python {sys.version.split()[0]}, {STEPS} steps, {PAIRS} pairs"
    )
    show_hooks(torch)
    for name, make in spans(torch).items():
        show_spans(name, make, torch)
    folder.cleanup()


def make_step(torch: Any, spans: Callable[[], Any] | None = None) -> Callable[[], None]:
    """A training loop over a loader of ready batches, as the hooks see one."""
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    torch.manual_seed(0)
    x, y = torch.randn(64, 32), torch.randint(0, 10, (64,))

    class Ready(Dataset):
        def __len__(self) -> int:
            return STEPS

        def __getitem__(self, at: int) -> tuple[Any, Any]:
            return x, y

    loader = DataLoader(Ready(), batch_size=None)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    criterion = nn.CrossEntropyLoss()
    span = spans or contextlib.nullcontext

    def train() -> None:
        for inputs, labels in loader:
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

    return train if spans is None else train_with_spans


def microseconds_per_step(train: Callable[[], None]) -> float:
    gc.collect()
    gc.disable()
    began = time.perf_counter()
    train()
    took = time.perf_counter() - began
    gc.enable()
    return took / STEPS * 1e6


class Switch:
    """Puts torch's own functions back, and ours in their place again."""

    def __init__(self, torch: Any) -> None:
        from torch.utils.data import dataloader

        self.places = [
            (torch.nn.Module, "__call__"),
            (torch.nn.Module, "eval"),
            (torch.nn.Module, "zero_grad"),
            (torch.autograd, "backward"),
            (torch.optim.Optimizer, "zero_grad"),
            (torch.optim.SGD, "step"),
            (dataloader.DataLoader, "__iter__"),
            (dataloader._BaseDataLoaderIter, "__next__"),
            (dataloader._BaseDataLoaderIter, "_next_index"),
        ]
        self.ours = [getattr(owner, name) for owner, name in self.places]

    def on(self) -> None:
        for (owner, name), ours in zip(self.places, self.ours, strict=True):
            setattr(owner, name, ours)

    def off(self) -> None:
        for (owner, name), ours in zip(self.places, self.ours, strict=True):
            setattr(owner, name, ours.__wrapped__)


def show_hooks(torch: Any) -> None:
    import laptime.torch

    laptime.init()
    laptime.torch.attach()
    train = make_step(torch)
    switch = Switch(torch)
    train()
    pairs = []
    for _ in range(PAIRS):
        switch.off()
        bare = microseconds_per_step(train)
        switch.on()
        pairs.append((bare, microseconds_per_step(train)))
    show("zero-code hooks, all stages", pairs, 1, "a step")
    switch.off()


def spans(torch: Any) -> dict[str, Callable[[], Any]]:
    """Forms of a span beside ours, each as something that makes a context manager."""
    import laptime

    stage = laptime.stage("bench")
    found: dict[str, Callable[[], Any]] = {"with laptime.stage": lambda: stage}
    found["record_function, profiler off"] = lambda: torch.profiler.record_function("bench")
    with contextlib.suppress(ImportError):
        from lightning.pytorch.profilers import SimpleProfiler

        profiler = SimpleProfiler()
        found["Lightning SimpleProfiler"] = lambda: profiler.profile("bench")
    with contextlib.suppress(ImportError):
        import traceml

        if hasattr(traceml, "trace_step"):
            found["traceml-ai trace_step"] = lambda: traceml.trace_step("bench")
    return found


def show_spans(name: str, make: Callable[[], Any], torch: Any) -> None:
    with_spans = make_step(torch, make)
    empty = contextlib.nullcontext()
    without = make_step(torch, lambda: empty)
    with_spans()
    pairs = [
        (microseconds_per_step(without), microseconds_per_step(with_spans))
        for _ in range(SPAN_PAIRS)
    ]
    show(name, pairs, SPANS, "a span, beyond an empty with")


def show(name: str, pairs: list[tuple[float, float]], parts: int, unit: str) -> None:
    bare = min(pair[0] for pair in pairs)
    ours = min(pair[1] for pair in pairs)
    differences = sorted(after - before for before, after in pairs)
    least, middle = (ours - bare) / parts, differences[len(differences) // 2] / parts
    print(
        f"{name:32} {bare:7.1f} us -> {ours:7.1f} us a step   "
        f"min {least:6.2f} us, median of pairs {middle:6.2f} us {unit}"
    )


if __name__ == "__main__":
    main()
