"""Trains a wide network in batches of four samples, the most that its memory is taken to allow.

The fault: an update of all weights after every batch takes longer than its gradients; four batches may share one.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH = 4
SHARED = 4


def train(epochs: int, together: int) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    rows = TensorDataset(torch.randn(BATCH * 240, 1024), torch.randint(0, 10, (BATCH * 240,)))
    loader = DataLoader(rows, BATCH, shuffle=True)
    for epoch in range(epochs):
        total = 0.0
        for number, (inputs, labels) in enumerate(loader, 1):
            loss = nn.functional.cross_entropy(net(inputs), labels)
            (loss / together).backward()
            total += loss.item()
            if number % together == 0:
                optimizer.step()
                optimizer.zero_grad()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    train(options.epochs, together=SHARED if options.fixed else 1)
