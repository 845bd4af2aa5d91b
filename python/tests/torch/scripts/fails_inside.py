"""Trainings that fail inside what is hooked; the traceback must read as it does without hooks."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, broken: bool) -> None:
        self.broken = broken

    def __len__(self) -> int:
        return 8

    def __getitem__(self, at: int) -> torch.Tensor:
        if self.broken and at == 5:
            raise KeyError("row 5 is broken")
        return torch.ones(4)


def main(where: str) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(4, 3), nn.Sequential(nn.ReLU(), nn.Linear(7 if where == "model" else 3, 1))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in DataLoader(
        Rows(where in ("loader", "worker")), batch_size=2, num_workers=where == "worker"
    ):
        loss = model(batch).pow(2).mean()
        if where == "backward":
            loss.backward()
        loss.backward()
        if where == "optimizer":
            optimizer.step(closure=lambda: 1 / 0)
        if where == "save":
            torch.save(model, "/nowhere/at/all")
        optimizer.step()


main(sys.argv[1])
