"""Trains a small CNN on photographs that two workers decode and make smaller.

The fault: they do so in every epoch, where once would do; `--fixed` reads a pack.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

PICTURES, TAKEN, SIDE, BATCH = 768, 320, 32, 32


def write_pictures(folder: Path) -> None:
    noise = np.random.default_rng(0)
    for number in range(PICTURES):
        coarse = noise.integers(0, 256, (20, 20, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((TAKEN, TAKEN)).save(folder / f"{number:04}.jpg")


class Pictures(Dataset):
    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.iterdir())

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, at: int) -> tuple[torch.Tensor, int]:
        with Image.open(self.files[at]) as picture:
            smaller = picture.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
        pixels = np.asarray(smaller, dtype=np.float32) / 255.0
        return torch.from_numpy(pixels).permute(2, 0, 1).contiguous(), at % 10


def dataset() -> Dataset:
    """What `laptime pack` packs."""
    return Pictures(Path(os.environ["PICTURES"]))


def packed(folder: Path, pack: Path) -> Iterable:
    import laptime

    command = [sys.executable, "-m", "laptime", "pack", f"{__file__}:dataset", "-o", str(pack)]
    environment = {**os.environ, "PICTURES": str(folder)}
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return laptime.Loader(pack, BATCH, shuffle=True)


def train(loader: Iterable, epochs: int) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 8 * 8, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
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
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        taken = Path(name, "taken")
        taken.mkdir()
        write_pictures(taken)
        if options.fixed:
            train(packed(taken, Path(name, "pictures.pack")), options.epochs)
        else:
            loader = DataLoader(
                Pictures(taken), BATCH, shuffle=True, num_workers=2, persistent_workers=True
            )
            train(loader, options.epochs)
