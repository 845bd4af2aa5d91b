"""Trains the head of a network; the rest is left as it is, as in fine-tuning.

The fault: only the optimizer knows that. Without `requires_grad_(False)` backward computes every gradient.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

WIDTH = 512


def train(epochs: int, freeze: bool) -> None:
    torch.manual_seed(0)
    layers = [part for _ in range(6) for part in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    net = nn.Sequential(*layers, nn.Linear(WIDTH, 10))
    if freeze:
        net[:-1].requires_grad_(False)
    optimizer = torch.optim.SGD(net[-1].parameters(), lr=0.1)
    rows = TensorDataset(torch.randn(64 * 80, WIDTH), torch.randint(0, 10, (64 * 80,)))
    loader = DataLoader(rows, 64, shuffle=True)
    for epoch in range(epochs):
        total = 0.0
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(inputs), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    train(options.epochs, freeze=options.fixed)
