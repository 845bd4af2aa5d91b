"""A script that sleeps known times in every stage, written for checking them."""

import os
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, at: int) -> torch.Tensor:
        time.sleep(0.010)
        return torch.full((4,), float(at))


class SlowBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        time.sleep(0.015)
        return grad


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        time.sleep(0.020)
        return SlowBackward.apply(self.layer(x))


class SlowSGD(torch.optim.SGD):
    def step(self, closure=None):
        time.sleep(0.012)
        return super().step(closure)


class SlowPickle:
    def __reduce__(self):
        time.sleep(0.050)
        return (str, ())


torch.set_num_threads(1)
torch.manual_seed(18)
loader = DataLoader(Slow(), batch_size=2)
model = Net()
optimizer = SlowSGD(model.parameters(), lr=1e-4)
for epoch in range(3):
    model.train()
    for inputs in loader:
        optimizer.zero_grad()
        loss = model(inputs).mean()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for inputs in loader:
            model(inputs)
    with tempfile.TemporaryDirectory() as folder:
        torch.save(SlowPickle(), os.path.join(folder, "x.pt"))
    print(epoch, loss.item().hex())
