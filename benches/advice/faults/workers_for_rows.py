"""Trains a small network on the rows of a table that is in memory.

The fault: two workers, which take longer to hand a batch over than the loop would to load it.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ROWS, COLUMNS, BATCH = 8192, 20, 64


def train(epochs: int, workers: int) -> None:
    torch.manual_seed(0)
    rows = torch.randn(ROWS, COLUMNS)
    targets = rows[:, :4].sum(1, keepdim=True) + 0.1 * torch.randn(ROWS, 1)
    net = nn.Sequential(nn.Linear(COLUMNS, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    kept = {"persistent_workers": True} if workers else {}
    loader = DataLoader(
        TensorDataset(rows, targets), BATCH, shuffle=True, num_workers=workers, **kept
    )
    for epoch in range(epochs):
        total = 0.0
        for features, target in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(features), target)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    train(options.epochs, workers=0 if options.fixed else 2)
