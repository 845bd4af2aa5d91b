"""Trains a CNN on pictures that one worker decodes faster than the model can take them."""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

ROWS, SIDE, BATCH = 2048, 32, 64


class Pictures(Dataset):
    def __init__(self) -> None:
        noise = np.random.default_rng(0)
        self.pictures = noise.integers(0, 256, (ROWS, 3, SIDE, SIDE), dtype=np.uint8)
        self.labels = noise.integers(0, 10, ROWS)

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, at: int) -> tuple[torch.Tensor, int]:
        pixels = torch.from_numpy(self.pictures[at]).float() / 255.0
        return (pixels.flip(2) if at % 2 else pixels), int(self.labels[at])


def train(epochs: int) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(128, 128, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(128, 10),
    ).to(memory_format=torch.channels_last)  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    loader = DataLoader(Pictures(), BATCH, shuffle=True, num_workers=1, persistent_workers=True)
    for epoch in range(epochs):
        total = 0.0
        for pictures, labels in loader:
            optimizer.zero_grad()
            outputs = net(pictures.to(memory_format=torch.channels_last))
            loss = nn.functional.cross_entropy(outputs, labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    train(parser.parse_args().epochs)
