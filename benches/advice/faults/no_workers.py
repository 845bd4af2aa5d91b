"""Trains a small CNN on pictures read from a slow disk, loaded by the training process itself.

The fault: `num_workers=0`, so the model waits for every file.
"""

from __future__ import annotations

import argparse
import io
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

PICTURES = 1536
LATENCY_S = 0.0006  # of a file on network storage


def write_pictures(folder: Path) -> None:
    noise = np.random.default_rng(0)
    for number in range(PICTURES):
        pixels = noise.integers(0, 256, (32, 32, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")


class Pictures(Dataset):
    def __init__(self, folder: Path) -> None:
        self.files = [folder / f"{number}.png" for number in range(PICTURES)]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, at: int) -> tuple[torch.Tensor, int]:
        time.sleep(LATENCY_S)
        with Image.open(io.BytesIO(self.files[at].read_bytes())) as picture:
            pixels = np.asarray(picture, dtype=np.float32) / 255.0
        return torch.from_numpy(pixels).permute(2, 0, 1), at % 10


def model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, 10),
    )  # fmt: skip


def train(folder: Path, epochs: int, workers: int) -> None:
    torch.manual_seed(0)
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(Pictures(folder), 32, shuffle=True, num_workers=workers)
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
    with TemporaryDirectory() as name:
        write_pictures(Path(name))
        train(Path(name), options.epochs, workers=2 if options.fixed else 0)
