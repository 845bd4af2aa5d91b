"""A small CNN on images of 32 by 32 pixels, with a DataLoader or with laptime.Loader.

python cnn.py dataloader IMAGES.npz ORDER.npy LOSSES.npy        python cnn.py laptime IMAGES.pack - LOSSES.npy
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from order import InOrder
from torch import nn
from torch.utils.data import DataLoader, Dataset

BATCH = 64
EPOCHS = 2
SEED = 0


class Images(Dataset):
    """Pixels as bytes, with their class."""

    def __init__(self, path: str) -> None:
        with np.load(path) as arrays:
            self.x, self.label = arrays["x"], arrays["label"]

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int):
        return self.x[index], self.label[index]


def loader(kind: str, data: str, order: str):
    if kind == "laptime":
        import laptime

        return laptime.Loader(data, batch_size=BATCH, shuffle=True, seed=SEED)
    return DataLoader(Images(data), BATCH, sampler=InOrder(order))


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 8 * 8, 10),
    )


def main(kind: str, data: str, order: str, losses: str) -> None:
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    batches = loader(kind, data, order)
    seen = []
    for epoch in range(EPOCHS):
        for x, label in batches:
            loss = nn.functional.cross_entropy(model(x.float().div(255)), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.append(loss.item())
        print(f"epoch {epoch + 1}, loss {seen[-1]:.6f}")
    np.save(losses, np.array(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
