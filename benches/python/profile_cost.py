"""What `laptime run --profile` costs: `python benches/python/profile_cost.py [PAIRS [SECONDS]]`.

A training that keeps the CPU busy runs under `laptime run --profile`. Two processes of one script differ by
some per cent for good, so one process is held against itself: the sampler, which is in the process of
`laptime run`, is stopped and let go on in turns, and the steps of each block are compared with those of the
block after it. The bar: at most 2 % at the default rate, of the steps' time and of one CPU.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 150
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0.3
BAR = 0.02

# Tells the end of each group of steps, by a clock that all processes share, and its wall and CPU time.
TRAINING = """
import sys, time
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(),
    torch.nn.Linear(256, 1),
)
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(4096, 64), torch.randn(4096, 1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=64)
until = time.monotonic() + float(sys.argv[1])
while time.monotonic() < until:
    wall, cpu = time.monotonic(), time.process_time()
    for rows, targets in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(rows), targets).backward()
        optimizer.step()
    print(wall, time.monotonic() - wall, time.process_time() - cpu, flush=True)
"""
WARM_UP = 3.0  # seconds

Block = tuple[float, float]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        blocks, epochs, report = train(Path(folder))
    walls, cpus = ratios(blocks, epochs, 1), ratios(blocks, epochs, 2)
    cost = report["profile"]["cost"]
    print(
        f"{len(walls)} pairs of blocks of {SECONDS:g} s, sampler on and off, in one process of 1 thread"
    )
    show("wall time of the steps, on / off", walls)
    show("CPU time of the steps, on / off", cpus)
    # It was stopped half of the time.
    share = cost["cpu_s"] / (report["wall_s"] - PAIRS * SECONDS)
    print(f"{'sampler while on, share of one CPU':36} {share:.4f}   bar {BAR}")


def train(folder: Path) -> tuple[list[Block], list[list[float]], dict]:
    """Blocks with the sampler on, each followed by one with it off, and the training's epochs."""
    laptime = Path(sys.executable).with_name("laptime")
    command = [str(laptime), "run", "--quiet", "--profile", "--dir", str(folder), "--"]
    command += [sys.executable, "-c", TRAINING, str(WARM_UP + 2 * PAIRS * SECONDS + 1)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    assert run.stdout is not None
    lines = [run.stdout.readline()]
    time.sleep(WARM_UP)
    blocks = []
    for _ in range(PAIRS):
        for wanted in (signal.SIGCONT, signal.SIGSTOP):
            os.kill(run.pid, wanted)
            blocks.append((time.monotonic(), time.monotonic() + SECONDS))
            time.sleep(SECONDS)
    os.kill(run.pid, signal.SIGCONT)
    lines += run.stdout.readlines()
    run.wait()
    shown = [str(laptime), "report", "--json", "--dir", str(folder)]
    report = json.loads(subprocess.check_output(shown, text=True))
    return blocks, [list(map(float, line.split())) for line in lines], report


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAPTIME_")}
    return kept | {"OMP_NUM_THREADS": "1"}


def ratios(blocks: list[Block], epochs: list[list[float]], clock: int) -> list[float]:
    """The median epoch of each block with the sampler by that of the block without after it."""
    medians = [median_of(block, epochs, clock) for block in blocks]
    return [on / off for on, off in zip(medians[::2], medians[1::2], strict=True)]


def median_of(block: Block, epochs: list[list[float]], clock: int) -> float:
    began, ended = block
    inside = [e for e in epochs if began < e[0] and e[0] + e[1] < ended]
    return statistics.median(epoch[clock] for epoch in inside)


def show(name: str, found: list[float]) -> None:
    middle = statistics.median(found)
    # Of the median, by its order statistics, at 95 %.
    ranked, reach = sorted(found), 0.98 * len(found) ** 0.5
    low = ranked[max(0, int(len(found) / 2 - reach))]
    high = ranked[min(len(found) - 1, int(len(found) / 2 + reach))]
    print(f"{name:36} {middle:.4f} (95 %: {low:.4f} to {high:.4f})   bar {1 + BAR}")


if __name__ == "__main__":
    main()
