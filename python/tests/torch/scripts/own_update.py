"""Models that the script updates itself: there is no optimizer. The first is written without modules."""

import torch
from torch import nn


def without_modules(features: torch.Tensor, target: torch.Tensor) -> None:
    weight = torch.zeros(8, 1, requires_grad=True)
    for epoch in range(2):
        for start in range(0, 512, 32):
            loss = (
                (features[start : start + 32] @ weight - target[start : start + 32]) ** 2
            ).mean()
            loss.backward()
            with torch.no_grad():
                weight -= 0.01 * weight.grad
                weight.grad.zero_()
        print("tensors", epoch, loss.item().hex())


def with_a_module(features: torch.Tensor, target: torch.Tensor) -> None:
    model = nn.Linear(8, 1)
    for epoch in range(3):
        for start in range(0, 512, 16):
            model.zero_grad()
            loss = ((model(features[start : start + 16]) - target[start : start + 16]) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.01 * parameter.grad
        print("module", epoch, loss.item().hex())


def main() -> None:
    torch.manual_seed(0)
    features, target = torch.randn(512, 8), torch.randn(512, 1)
    without_modules(features, target)
    with_a_module(features, target)


main()
