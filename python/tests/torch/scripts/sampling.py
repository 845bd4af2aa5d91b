"""Samples from the model inside the pass it is trained in, and evaluates without `eval()`."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Slow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        time.sleep(0.004)
        return self.inner(features)


def main() -> None:
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(320, 8), torch.randn(320, 1)), 32)
    model = Slow()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        for at, (features, target) in enumerate(loader):
            loss = ((model(features) - target) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if at == 5:
                model.eval()
                with torch.no_grad():
                    for _ in range(25):
                        model(features)
                model.train()
        # In training mode, but nothing is kept for gradients.
        with torch.no_grad():
            held = [((model(x) - y) ** 2).mean().item() for x, y in loader]
        print(epoch, loss.item().hex(), sum(held).hex())


main()
