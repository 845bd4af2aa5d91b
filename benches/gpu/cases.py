"""Trainings on a GPU, each with a limit that was planted: `python cases.py CASE [EPOCHS [TRACE]]`.

Prints the time of each epoch by the script's own synchronized clock, a JSON line each. With TRACE, a file, one
epoch runs under torch.profiler instead, and the device time of its stages is printed by what that saw.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.data import DataLoader, Dataset

DEVICE = "cuda"
Pass = Callable[[], None]

# The loss of every step that keeps one, on the device until the training has ended.
losses: list[torch.Tensor] = []


class Rows(Dataset):
    """Rows of random numbers, each of which may take its time."""

    def __init__(self, rows: int, width: int = 64, seconds: float = 0.0) -> None:
        self.rows, self.seconds = torch.randn(rows, width), seconds

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> torch.Tensor:
        if self.seconds:
            time.sleep(self.seconds)
        return self.rows[at]


class Ready(Dataset):
    """Whole batches that are there already."""

    def __init__(self, batches: list[torch.Tensor], steps: int) -> None:
        self.batches, self.steps = batches, steps

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, at: int) -> torch.Tensor:
        return self.batches[at % len(self.batches)]


def wide(layers: int = 6, width: int = 4096, features: int = 64) -> nn.Module:
    """Large products of matrices: the GPU has all it can do."""
    inner = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(nn.Linear(features, width), *inner, nn.Linear(width, 1)).to(DEVICE)


def deep(layers: int = 60, width: int = 64, features: int = 64) -> nn.Module:
    """Many small layers: the GPU waits for the next launch."""
    inner = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(nn.Linear(features, width), *inner, nn.Linear(width, 1)).to(DEVICE)


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=1e-4)


def plain(
    model: nn.Module, loader: DataLoader, each: Callable[[Any], None] | None = None, **to: Any
) -> Pass:
    """The loop that most scripts have; `each` gets every loss."""
    optimizer = sgd(model)

    def train() -> None:
        for batch in loader:
            inputs = batch.to(DEVICE, **to)
            optimizer.zero_grad()
            with record_function("forward"):
                loss = model(inputs).square().mean()
            with record_function("backward"):
                loss.backward()
            with record_function("optimizer"):
                optimizer.step()
            losses.append(loss.detach())
            if each is not None:
                each(loss)

    return train


def gpu_bound() -> Pass:
    return plain(wide(), DataLoader(Rows(4096 * 12), batch_size=4096))


def item() -> Pass:
    seen: list[float] = []
    return plain(
        wide(),
        DataLoader(Rows(4096 * 12), batch_size=4096),
        lambda loss: seen.append(loss.item()),
    )


def launch_bound() -> Pass:
    return plain(deep(), DataLoader(Rows(64 * 60), batch_size=64))


def data_bound() -> Pass:
    return plain(deep(4), DataLoader(Rows(16 * 20, seconds=2e-3), batch_size=16))


def data_bound_workers() -> Pass:
    loader = DataLoader(
        Rows(16 * 40, seconds=2e-3), batch_size=16, num_workers=2, persistent_workers=True
    )
    return plain(deep(4), loader)


def pageable() -> Pass:
    batches = [torch.randn(4096, 4096) for _ in range(4)]
    return plain(deep(2, features=4096), DataLoader(Ready(batches, 80), batch_size=None))


def side_stream() -> Pass:
    batches = [torch.randn(4096, 4096).pin_memory() for _ in range(4)]
    model = wide(4, features=4096)
    optimizer, loader, side = (
        sgd(model),
        DataLoader(Ready(batches, 14), batch_size=None),
        torch.cuda.Stream(),
    )

    def ahead() -> Iterator[torch.Tensor]:
        held = None
        for batch in loader:
            with torch.cuda.stream(side):
                moved = batch.to(DEVICE, non_blocking=True)
            if held is not None:
                yield held
            torch.cuda.current_stream().wait_stream(side)
            moved.record_stream(torch.cuda.current_stream())
            held = moved
        if held is not None:
            yield held

    def train() -> None:
        for inputs in ahead():
            optimizer.zero_grad()
            loss = model(inputs).square().mean()
            loss.backward()
            optimizer.step()

    return train


def amp() -> Pass:
    model = wide(8, 8192)
    optimizer, loader = sgd(model), DataLoader(Rows(8192 * 12), batch_size=8192)

    def train() -> None:
        for batch in loader:
            inputs = batch.to(DEVICE)
            optimizer.zero_grad()
            with torch.autocast(DEVICE, torch.bfloat16):
                loss = model(inputs).float().square().mean()
            loss.backward()
            optimizer.step()

    return train


def compiled() -> Pass:
    model = torch.compile(wide(3))
    return plain(model, DataLoader(Rows(4096 * 16), batch_size=4096))


def graph() -> Pass:
    model = wide(2, 2048)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    batches = [torch.randn(4096, 64) for _ in range(4)]
    loader = DataLoader(Ready(batches, 120), batch_size=None)
    static = torch.randn(4096, 64, device=DEVICE)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(static).square().mean().backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        step()

    def train() -> None:
        for batch in loader:
            static.copy_(batch)
            captured.replay()

    return train


def accumulation() -> Pass:
    model = wide()
    optimizer, loader = sgd(model), DataLoader(Rows(2048 * 24), batch_size=2048)

    def train() -> None:
        for at, batch in enumerate(loader):
            loss = model(batch.to(DEVICE)).square().mean() / 4
            loss.backward()
            if at % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()

    return train


def evaluation() -> Pass:
    model = wide()
    train_pass = plain(model, DataLoader(Rows(4096 * 10), batch_size=4096))
    held_out = DataLoader(Rows(4096 * 6), batch_size=4096)
    evaluate.body = lambda: _evaluate(model, held_out)  # type: ignore[attr-defined]
    return train_pass


def _evaluate(model: nn.Module, loader: DataLoader) -> None:
    model.eval()
    with torch.no_grad():
        for batch in loader:
            model(batch.to(DEVICE)).square().mean()
    model.train()


def two_models() -> Pass:
    first, second = wide(3), wide(3)
    optimizers = sgd(first), sgd(second)
    loader = DataLoader(Rows(4096 * 10), batch_size=4096)

    def train() -> None:
        for batch in loader:
            inputs = batch.to(DEVICE)
            for model, optimizer in zip((first, second), optimizers, strict=True):
                optimizer.zero_grad()
                model(inputs).square().mean().backward()
                optimizer.step()

    return train


def evaluate() -> None:
    """What follows an epoch, where a case has that."""
    body = getattr(evaluate, "body", None)
    if body is not None:
        body()


CASES = {
    "gpu_bound": gpu_bound,
    "item": item,
    "launch_bound": launch_bound,
    "data_bound": data_bound,
    "data_bound_workers": data_bound_workers,
    "pageable": pageable,
    "side_stream": side_stream,
    "amp": amp,
    "compiled": compiled,
    "graph": graph,
    "accumulation": accumulation,
    "evaluation": evaluation,
    "two_models": two_models,
}


def main() -> None:
    case, epochs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4
    torch.manual_seed(0)
    train = CASES[case]()
    if len(sys.argv) > 3:
        train()
        print(json.dumps(stage_times(train, sys.argv[3])), flush=True)
        return
    for _ in range(epochs):
        torch.cuda.synchronize()
        began = time.perf_counter()
        train()
        torch.cuda.synchronize()
        print(json.dumps({"epoch_s": time.perf_counter() - began}), flush=True)
        evaluate()
    if losses:
        print(json.dumps({"losses": [loss.item().hex() for loss in losses]}), flush=True)


def stage_times(train: Pass, file: str) -> dict[str, float]:
    """What torch.profiler saw: seconds of kernels launched inside each named range, seconds from the first to the
    last of them, how many kernels there were, and how many waits.
    """
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        torch.cuda.synchronize()
        train()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(file)
    with open(file) as text:
        events = json.load(text)["traceEvents"]
    launches: dict[int, float] = {}
    ranges: list[tuple[float, float, str]] = []
    for event in events:
        correlation = event.get("args", {}).get("correlation")
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and correlation is not None:
            launches[correlation] = event["ts"]
        elif event.get("cat") == "user_annotation":
            ranges.append((event["ts"], event["ts"] + event["dur"], event["name"]))
    found: dict[str, float] = {}
    spans: dict[tuple[float, float, str], tuple[float, float]] = {}
    for event in events:
        if event.get("cat") not in ("kernel", "gpu_memset", "gpu_memcpy"):
            continue
        at, end = launches.get(event["args"]["correlation"], -1.0), event["ts"] + event["dur"]
        around = next((one for one in ranges if one[0] <= at <= one[1]), (0.0, 0.0, "other"))
        first, last = spans.get(around, (event["ts"], end))
        spans[around] = min(first, event["ts"]), max(last, end)
        found[around[2]] = found.get(around[2], 0.0) + event["dur"] * 1e-6
    for (_, _, name), (first, last) in spans.items():
        found[f"{name} span"] = found.get(f"{name} span", 0.0) + (last - first) * 1e-6
    found["kernels"] = sum(event.get("cat") == "kernel" for event in events)
    found["waits"] = sum("Synchronize" in event.get("name", "") for event in events)
    return found


if __name__ == "__main__":
    main()
