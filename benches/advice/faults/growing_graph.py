"""Trains a small regression and shows the mean loss so far after every step.

The fault: the list keeps losses with their graphs, and every step adds up all of them as tensors.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn

BATCH, STEPS = 64, 600


def train(fixed: bool, epochs: int) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(128, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 1)
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    inputs = torch.randn(BATCH * STEPS, 128)
    targets = inputs[:, :8].sum(dim=1, keepdim=True)
    losses = []
    for epoch in range(epochs):
        for rows in torch.randperm(len(inputs)).split(BATCH):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(inputs[rows]), targets[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item() if fixed else loss)
            mean = sum(losses) / len(losses)
        print(f"epoch {epoch} loss {loss.item():.4f} mean so far {mean:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    train(options.fixed, options.epochs)
