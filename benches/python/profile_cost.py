"""What `laptime run --profile` costs: `python benches/python/profile_cost.py [PAIRS [SECONDS]]`.

A training that keeps the CPU busy is run in turns under `laptime run` with and without --profile. It does a
fixed amount of work and tells how long its steps took, wall and CPU, from after its warm-up to its end, so
that imports are left out. The bar: at most 2 % at the default rate, of the wall time and of one CPU.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 8
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
BAR = 0.02

TRAINING = """
import json, sys, time
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
def epoch():
    for rows, targets in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(rows), targets).backward()
        optimizer.step()
began = time.perf_counter()
epoch()
epoch()
epochs = int(sys.argv[1]) or max(1, round(2 * float(sys.argv[2]) / (time.perf_counter() - began)))
wall, cpu = time.perf_counter(), time.process_time()
for _ in range(epochs):
    epoch()
print(json.dumps([epochs, time.perf_counter() - wall, time.process_time() - cpu]))
"""


def train(folder: Path, epochs: int, options: list[str]) -> tuple[int, float, float]:
    """One run: epochs, seconds of wall and of CPU time."""
    words = [sys.executable, "-c", TRAINING, str(epochs), str(SECONDS)]
    command = [sys.executable, "-m", "laptime", "run", "-q", *options, "--", *words]
    environment = os.environ | {"LAPTIME_DIR": str(folder), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return tuple(json.loads(done.stdout))


def sampling(folder: Path) -> dict[str, float]:
    """What the report of the latest run says that sampling cost."""
    command = [sys.executable, "-m", "laptime", "report", "--json", "--dir", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    profile = json.loads(done.stdout)["profile"]
    return profile["cost"] | {"samples": profile["samples"]}


def spread(values: list[float]) -> str:
    """Median and range."""
    return f"{statistics.median(values):.4f} ({min(values):.4f} to {max(values):.4f})"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        epochs, *_ = train(runs, 0, [])
        wall, cpu, own = [], [], []
        for pair in range(PAIRS):
            # Whoever goes second finds warmer caches, so they take turns at that too.
            turns = [[], ["--profile"]] if pair % 2 == 0 else [["--profile"], []]
            took = {}
            for options in turns:
                took[bool(options)] = train(runs, epochs, options)
                if options:
                    own.append(sampling(runs))
            wall.append(took[True][1] / took[False][1])
            cpu.append(took[True][2] / took[False][2])
        print(f"{PAIRS} pairs of {epochs} epochs, about {SECONDS:g} s each")
        print(f"{'what':<34} {'median (range)':<32} bar")
        print(f"{'wall time, with / without':<34} {spread(wall):<32} {1 + BAR:.2f}")
        print(f"{'CPU time of it, with / without':<34} {spread(cpu):<32} {1 + BAR:.2f}")
        shares = [cost["share"] for cost in own]
        print(f"{'sampler, share of one CPU':<34} {spread(shares):<32} {BAR:.2f}")
        each = [cost["cpu_s"] / cost["samples"] * 1e6 for cost in own if cost["samples"]]
        print(f"{'sampler, us a stack':<34} {statistics.median(each):.1f}")


if __name__ == "__main__":
    main()
