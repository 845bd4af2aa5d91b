"""Trains a network whose updates are meant to add up the gradients of four batches.

The fault: gradients are cleared before every batch, so three of four are computed for nothing. `--fixed` leaves
those batches out, and makes the same updates.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH = 64
TOGETHER = 4


def batches(count: int, used_only: bool) -> DataLoader:
    inputs = torch.randn(count * TOGETHER, BATCH, 256)
    if used_only:
        inputs = inputs[TOGETHER - 1 :: TOGETHER]
    inputs = inputs.reshape(-1, 256)
    return DataLoader(TensorDataset(inputs, inputs[:, :10].argmax(dim=1)), BATCH)


def train(epochs: int, together: int) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loader = batches(25, used_only=together == 1)
    for epoch in range(epochs):
        total = 0.0
        for number, (rows, labels) in enumerate(loader, 1):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(rows), labels)
            loss.backward()
            if number % together == 0:
                optimizer.step()
                total += loss.item()
        print(f"epoch {epoch} loss {total / (len(loader) // together):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    train(options.epochs, together=1 if options.fixed else TOGETHER)
