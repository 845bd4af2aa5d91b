"""Hangs in mid-epoch: its third step of epoch 2 in backward, one of two workers in a transform, one idle."""

import os
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

folder = Path(sys.argv[1])


def hang(name: str) -> None:
    (folder / name).write_text(str(os.getpid()))
    time.sleep(600)


def transform(at: int) -> torch.Tensor:
    # Batch 3 is the second worker's, and asked for before the first is used.
    if at == 6 and (folder / "second epoch").exists():
        hang("worker")
    return torch.full((4,), float(at))


class Rows(Dataset):
    def __init__(self) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 12

    def __getitem__(self, at: int) -> torch.Tensor:
        return self.transform(at)


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        if step == 2 and epoch == 1:
            hang("trainer")
        return grad


torch.set_num_threads(1)
loader = DataLoader(Rows(), batch_size=2, num_workers=2, multiprocessing_context=sys.argv[2])
if __name__ == "__main__":
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for epoch in range(3):
        if epoch == 1:
            (folder / "second epoch").touch()
        for step, inputs in enumerate(loader):
            optimizer.zero_grad()
            Backward.apply(model(inputs)).mean().backward()
            optimizer.step()
