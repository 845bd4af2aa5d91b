"""A script that sleeps in every stage and tells how long, written for checking them."""

import json
import os
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

slept: dict[str, float] = {}
evaluating = False


def rest(stage: str, seconds: float) -> None:
    """Sleeps, and counts how long that really took: a busy machine oversleeps."""
    began = time.perf_counter()
    time.sleep(seconds)
    stage = "evaluate" if evaluating else stage
    slept[stage] = slept.get(stage, 0.0) + time.perf_counter() - began


class Slow(Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, at: int) -> torch.Tensor:
        rest("data_wait", 0.010)
        return torch.full((4,), float(at))


class SlowBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        rest("backward", 0.015)
        return grad


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        rest("forward", 0.020)
        return SlowBackward.apply(self.layer(x))


class SlowSGD(torch.optim.SGD):
    def step(self, closure=None):
        rest("optimizer", 0.012)
        return super().step(closure)


class SlowPickle:
    def __reduce__(self):
        rest("checkpoint", 0.050)
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
    evaluating = True
    with torch.no_grad():
        for inputs in loader:
            model(inputs)
    evaluating = False
    with tempfile.TemporaryDirectory() as folder:
        torch.save(SlowPickle(), os.path.join(folder, "x.pt"))
    print(epoch, loss.item().hex())
if "TRUTH_FILE" in os.environ:
    with open(os.environ["TRUTH_FILE"], "w") as file:
        json.dump(slept, file)
