"""Trains a network on tensors in memory, in batches that fill its matrix products."""

from __future__ import annotations

import argparse

import torch
from torch import nn

ROWS, WIDTH, BATCH = 8192, 768, 256


def train(epochs: int) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10)
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    inputs = torch.randn(ROWS, WIDTH)
    labels = inputs[:, :10].argmax(dim=1)
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(ROWS).split(BATCH):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(inputs[rows]), labels[rows])
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / (ROWS // BATCH):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    train(parser.parse_args().epochs)
