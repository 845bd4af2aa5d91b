"""The changes that need a GPU, each made by `laptime run` to the training below: taken or not, and what a step takes.

    python benches/advice/gpu_changes.py

Prints a line a change, and ends with 1 when one that is said to be applied shows no effect in the script.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Each with what the script must see then.
CHANGES = {
    "pin_memory=1": {"pinned": True, "non_blocking": True},
    "tf32=1": {"matmul": "high"},
    "cudnn_benchmark=1": {"benchmark": True},
    "channels_last=1": {"channels_last": True},
    "autocast=bf16": {"inside": "torch.bfloat16", "outside": "torch.float32"},
    "compile=1": {"compiled": True},
    "fused_optimizer=1": {"fused": True},
    "foreach_optimizer=1": {"foreach": True},
    "num_workers=4": {"workers": 4},
    "repeat_batch=1": {},
    "gc=off": {"gc": False},
    "pin_memory=1,num_workers=4,persistent_workers=1": {"pinned": True, "workers": 4},
    "tf32=1,channels_last=1,autocast=bf16,compile=1": {"compiled": True, "channels_last": True},
}
# Steps that warm up, and steps that are timed.
WARM, TIMED = 20, 60
BATCH = 64


def train() -> None:
    """Trains a small convolutional network on the GPU and prints what it sees, as JSON."""
    import gc

    import torch
    from torch import nn
    from torch.overrides import TorchFunctionMode
    from torch.utils.data import DataLoader, TensorDataset

    class Copies(TorchFunctionMode):
        """Notes how a tensor is copied."""

        non_blocking = False

        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function is torch.Tensor.to or getattr(function, "__name__", "") == "to":
                Copies.non_blocking = bool((kwargs or {}).get("non_blocking"))
            return function(*args, **(kwargs or {}))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = (3, 64, 128, 256, 256)
            convolutions = [
                nn.Conv2d(before, after, 3, stride=2, padding=1)
                for before, after in itertools.pairwise(widths)
            ]
            self.convolutions = nn.ModuleList(convolutions)
            self.norms = nn.ModuleList(nn.BatchNorm2d(width) for width in widths[1:])
            self.out = nn.Linear(256 * 16, 10)
            self.hidden = nn.Sequential(*(nn.Linear(256 * 16, 256 * 16) for _ in range(2)))

        def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            for convolution, norm in zip(self.convolutions, self.norms, strict=True):
                images = torch.relu(norm(convolution(images)))
            return self.out(self.hidden(images.flatten(1))), images

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    rows = BATCH * 40
    data = TensorDataset(torch.randn(rows, 3, 64, 64), torch.randint(10, (rows,)))
    loader = DataLoader(data, batch_size=BATCH, shuffle=True, drop_last=True)
    model = Net().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    inner: list[str] = []
    times: list[float] = []
    seen: dict[str, object] = {}
    losses: list[float] = []
    before = time.perf_counter()
    while len(times) < WARM + TIMED:
        for images, labels in loader:
            seen["pinned"] = images.is_pinned()
            optimizer.zero_grad()
            output, features = model(images.to(device))
            loss = nn.functional.cross_entropy(output, labels.to(device))
            loss.backward()
            optimizer.step()
            # The loss is read in each step, so that a step has ended when it is timed.
            losses.append(loss.item())
            now = time.perf_counter()
            times.append(now - before)
            before = now
            seen["channels_last"] = features.is_contiguous(memory_format=torch.channels_last)
            seen["outside"] = str(output.dtype)
    with Copies():
        moved = images.to(device)
    # A hook in a compiled model would have it compiled again.
    if "compile" not in os.environ.get("LAPTIME_CHANGES", ""):
        model.out.register_forward_hook(lambda *call: inner.append(str(call[2].dtype)))
        model(moved)
    group = optimizer.param_groups[0]
    seen |= {
        "inside": inner[0] if inner else None,
        "non_blocking": Copies.non_blocking,
        "matmul": torch.get_float32_matmul_precision(),
        "benchmark": torch.backends.cudnn.benchmark,
        "compiled": model._compiled_call_impl is not None,
        "fused": bool(group.get("fused")),
        "foreach": bool(group.get("foreach")),
        "workers": loader.num_workers,
        "gc": gc.isenabled(),
    }
    print(
        json.dumps({"seen": seen, "ms": 1e3 * statistics.median(times[WARM:]), "loss": losses[-1]})
    )


def run(changes: str) -> tuple[dict, str, dict[str, str]]:
    """Runs the training with changes: what it saw, which of them its fit has, and why others were refused."""
    with tempfile.TemporaryDirectory() as folder:
        laptime = [sys.executable, "-m", "laptime"]
        command = [*laptime, "run", "--quiet", "--dir", folder, "--", sys.executable, __file__]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        if changes:
            environment["LAPTIME_CHANGES"] = changes
        done = subprocess.run(
            [*command, "train"], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{changes or 'no change'}: the training failed\n{done.stderr}")
        report = json.loads(
            subprocess.check_output([*laptime, "report", "--json", "--dir", folder], text=True)
        )
    troubles = [one.get("trouble", {}) for one in report["warnings"]]
    refused = {
        one["hook"].removeprefix("change "): one["because"]
        for one in troubles
        if one.get("what") == "hook_off"
    }
    applied = report["fits"][0]["settings"].get("changes", "")
    return json.loads(done.stdout.splitlines()[-1]), applied, refused


def main() -> int:
    """Runs the training without a change and with each."""
    before, _, _ = run("")
    print(f"without: step {before['ms']:.2f} ms, last loss {before['loss']:.4f}", flush=True)
    wrong = 0
    for changes, wanted in CHANGES.items():
        after, applied, refused = run(changes)
        state = "applied" if applied == changes.replace(",", " ") else f"refused {refused}"
        unseen = {
            name: after["seen"].get(name)
            for name, value in wanted.items()
            if state == "applied" and after["seen"].get(name) != value
        }
        wrong += bool(unseen)
        fault = f"; NOT SEEN: {unseen}" if unseen else ""
        times = f"step {before['ms']:.2f} → {after['ms']:.2f} ms"
        print(f"{changes}: {state}, {times}, last loss {after['loss']:.4f}{fault}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["train"]:
        train()
    else:
        sys.path = [one for one in sys.path if one != str(Path(__file__).parent)]
        sys.exit(main())
