"""Trains a deep, narrow network on a GPU and reads numbers from the device in every step.

The fault: the gradient norm of every parameter is fetched by `.item()`, and the GPU runs dry each time.
"""

from __future__ import annotations

import argparse
import sys

import torch
from torch import nn

LAYERS, WIDTH, BATCH, STEPS = 24, 512, 512, 300


def gradient_norms_now(net: nn.Module) -> list[float]:
    return [weight.grad.norm().item() for weight in net.parameters()]


def gradient_norms_later(net: nn.Module) -> torch.Tensor:
    return torch.stack([weight.grad.norm() for weight in net.parameters()])


def train(gradient_norms, epochs: int) -> None:
    torch.manual_seed(0)
    inner = [part for _ in range(LAYERS) for part in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    net = nn.Sequential(*inner, nn.Linear(WIDTH, 1)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    inputs = torch.randn(STEPS * BATCH // 10, WIDTH, device="cuda")
    targets = inputs[:, :1].clone()
    for epoch in range(epochs):
        total = torch.zeros((), device="cuda")
        norms = []
        for step in range(STEPS):
            rows = slice(step % 10 * BATCH, (step % 10 + 1) * BATCH)
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(inputs[rows]), targets[rows])
            loss.backward()
            norms.append(gradient_norms(net))
            optimizer.step()
            total += loss.detach()
        largest = max(float(max(norm)) for norm in norms)
        print(f"epoch {epoch} loss {total.item() / STEPS:.4f} largest gradient {largest:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("item_every_step.py needs a GPU that torch can use")
    train(gradient_norms_later if options.fixed else gradient_norms_now, options.epochs)
