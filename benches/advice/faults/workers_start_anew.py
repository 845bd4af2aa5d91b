"""Trains a network in short epochs; each worker opens an archive on slow storage before its first row.

The fault: without `persistent_workers` they begin anew, and open it again, in every epoch.
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

OPENING_S = 0.3


class Archive(Dataset):
    def __init__(self, rows: int) -> None:
        self.rows = torch.randn(rows, 256)
        self.is_open = False

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> tuple[torch.Tensor, int]:
        if not self.is_open:
            time.sleep(OPENING_S)
            self.is_open = True
        return self.rows[at], at % 10


def train(epochs: int, keep: bool) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loader = DataLoader(Archive(30 * 128), 128, num_workers=2, persistent_workers=keep)
    for epoch in range(epochs):
        total = 0.0
        for rows, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(rows), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    train(options.epochs, keep=options.fixed)
