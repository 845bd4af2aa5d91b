"""Layers trained one after the other, each with its own optimizer, as in forward-forward training."""

import torch
from torch import nn


def main() -> None:
    torch.manual_seed(0)
    features = torch.randn(64, 8)
    layers = [nn.Linear(8, 8), nn.Linear(8, 8)]
    optimizers = [torch.optim.SGD(layer.parameters(), lr=0.01) for layer in layers]
    for layer, optimizer in zip(layers, optimizers, strict=True):
        for _ in range(50):
            optimizer.zero_grad()
            loss = layer(features).pow(2).mean()
            loss.backward()
            optimizer.step()
        features = layer(features).detach()
        print(loss.item().hex())


main()
