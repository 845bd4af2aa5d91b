"""Trains a network and keeps a checkpoint from which it could go on.

The fault: model and optimizer are saved after every step.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def save(folder: Path, net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    state = {"model": net.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, folder / "last.pt")


def train(folder: Path, epochs: int, each_step: bool) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    inputs = torch.randn(16384, 256)
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
            if each_step:
                save(folder, net, optimizer)
        save(folder, net, optimizer)
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        train(Path(name), options.epochs, each_step=not options.fixed)
