"""Trains a classifier of small grey pictures, brightened one pixel after another.

The fault: the transform is a loop in Python. Two workers run it, and the model still waits.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIDE = 28


def tone(level: int) -> float:
    return min(max(1.2 * (level / 255.0) ** 0.8 - 0.1, 0.0), 1.0)


TONES = np.asarray([tone(level) for level in range(256)], dtype=np.float32)


def brighten_slowly(picture: np.ndarray) -> np.ndarray:
    result = np.empty((SIDE, SIDE), dtype=np.float32)
    for row in range(SIDE):
        for column in range(SIDE):
            result[row, column] = tone(int(picture[row, column]))
    return result


def brighten(picture: np.ndarray) -> np.ndarray:
    return TONES[picture]


class Pictures(Dataset):
    def __init__(self, transform, rows: int = 4096) -> None:
        noise = np.random.default_rng(0)
        self.pictures = noise.integers(0, 256, (rows, SIDE, SIDE), dtype=np.uint8)
        self.labels = noise.integers(0, 10, rows)
        self.transform = transform

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, at: int) -> tuple[torch.Tensor, int]:
        pixels = torch.from_numpy(self.transform(self.pictures[at]))
        return pixels.unsqueeze(0), int(self.labels[at])


def train(transform, epochs: int) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 32, 3, stride=2), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(),
        nn.Flatten(), nn.Linear(64 * 11 * 11, 10),
    )  # fmt: skip
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    loader = DataLoader(
        Pictures(transform), 64, shuffle=True, num_workers=2, persistent_workers=True
    )
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
    train(brighten if options.fixed else brighten_slowly, options.epochs)
