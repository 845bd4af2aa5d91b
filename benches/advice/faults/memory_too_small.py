"""Trains a small CNN on pictures in a memory-mapped file.

The fault: they are kept as float32, so that the file is larger than the memory there is; `--fixed` keeps bytes. The
limit on memory is a control group, which takes root to make.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

PICTURES, SIDE, BATCH = 2048, 96, 32
LIMIT = 160 << 20  # bytes; the pictures are 226 MB as float32, 57 MB as bytes
CGROUPS = Path("/sys/fs/cgroup")


@contextmanager
def little_memory() -> Iterator[None]:
    """What this process takes from now on, page cache included, stays below the limit."""
    second = (CGROUPS / "cgroup.controllers").exists()
    parent = CGROUPS if second else CGROUPS / "memory"
    if second:
        (parent / "cgroup.subtree_control").write_text("+memory")
    group = parent / f"laptime-fault-{os.getpid()}"
    group.mkdir()
    limit = group / ("memory.max" if second else "memory.limit_in_bytes")
    limit.write_text(str(LIMIT))
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (parent / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()


def write_pictures(path: Path, kept: type) -> None:
    noise = np.random.default_rng(0)
    with path.open("wb") as file:
        for _ in range(PICTURES):
            file.write(noise.integers(0, 256, (3, SIDE, SIDE)).astype(kept).tobytes())
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Pictures(Dataset):
    def __init__(self, path: Path, kept: type) -> None:
        self.pictures = np.memmap(path, kept, "r", shape=(PICTURES, 3, SIDE, SIDE))

    def __len__(self) -> int:
        return PICTURES

    def __getitem__(self, at: int) -> tuple[torch.Tensor, int]:
        return torch.from_numpy(self.pictures[at].astype(np.float32) / 255.0), at % 10


def train(path: Path, kept: type, epochs: int) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        nn.Linear(8 * 16, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(Pictures(path, kept), BATCH, shuffle=True)
    for epoch in range(epochs):
        total = 0.0
        for pictures, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(pictures), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    kept = np.uint8 if options.fixed else np.float32
    with TemporaryDirectory(dir="/var/tmp") as name:
        write_pictures(Path(name, "pictures"), kept)
        with little_memory():
            train(Path(name, "pictures"), kept, options.epochs)
