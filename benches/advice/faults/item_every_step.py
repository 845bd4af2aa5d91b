"""Trains a deep network on a GPU and watches the activations of every layer.

The fault: each layer's mean is fetched by `.item()` as it is computed, and so are the gradients' norms:
the GPU runs dry dozens of times a step.
"""

from __future__ import annotations

import argparse
import sys

import torch
from torch import nn

LAYERS, WIDTH, BATCH, STEPS = 16, 1024, 1024, 200


class Watched(nn.Module):
    """Linear layers whose mean activations are kept for a look after each epoch."""

    def __init__(self, watch) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, 1)
        self.watch, self.means = watch, []

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            rows = rows + layer(rows).relu()
            self.means.append(self.watch(rows.mean()))
        return self.head(rows)


def fetch(value: torch.Tensor) -> float:
    return value.item()


def keep(value: torch.Tensor) -> torch.Tensor:
    return value.detach()


def mean_of(kept: list) -> float:
    return float(torch.stack([torch.as_tensor(value) for value in kept]).mean())


def train(watch, epochs: int) -> None:
    torch.manual_seed(0)
    net = Watched(watch).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-6)
    inputs = torch.randn(BATCH * 8, WIDTH, device="cuda")
    targets = inputs[:, :1].clone()
    for epoch in range(epochs):
        losses, norms = [], []
        for step in range(STEPS):
            rows = slice(step % 8 * BATCH, (step % 8 + 1) * BATCH)
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(inputs[rows]), targets[rows])
            loss.backward()
            norms += [watch(weight.grad.norm()) for weight in net.parameters()]
            optimizer.step()
            losses.append(watch(loss))
        loss, mean, norm = (mean_of(kept) for kept in (losses, net.means, norms))
        print(f"epoch {epoch} loss {loss:.4f} activation {mean:.4f} gradient {norm:.4f}")
        net.means.clear()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("item_every_step.py needs a GPU that torch can use")
    train(keep if options.fixed else fetch, options.epochs)
