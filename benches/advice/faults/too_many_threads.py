"""Trains a small network with more threads than the machine has processors to spare.

The fault: `torch.set_num_threads(8)`, copied from a larger machine, on one that others use as well.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

WIDTH = 1024


def train(threads: int, epochs: int) -> None:
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(64, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH),
        nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH),
        nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH),
        nn.Linear(WIDTH, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    inputs = torch.randn(2560, 64)
    data = TensorDataset(inputs, inputs[:, :10].argmax(dim=1))
    loader = DataLoader(data, 64, shuffle=True)
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
    train(1 if options.fixed else 8, options.epochs)
