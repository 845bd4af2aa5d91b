"""Trains a network on rows that lie in shards on slow storage, loaded by two workers.

The fault: the workers are fast enough, but a shard that is opened takes longer than the two batches that
each of them is ahead.
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

BATCH = 128
SHARD = 13 * BATCH  # rows
OPENING_S = 0.2
READING_S = 0.004  # of the first row of a batch; the others come with it


class Shards(Dataset):
    def __init__(self, batches: int) -> None:
        self.rows = torch.randn(BATCH * batches, 512)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> tuple[torch.Tensor, int]:
        if at % BATCH == 0:
            time.sleep(OPENING_S if at % SHARD == 0 else READING_S)
        return self.rows[at], at % 10


def train(epochs: int, ahead: int) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loader = DataLoader(
        Shards(78), BATCH, num_workers=2, persistent_workers=True, prefetch_factor=ahead
    )
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
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    train(options.epochs, ahead=8 if options.fixed else 2)
