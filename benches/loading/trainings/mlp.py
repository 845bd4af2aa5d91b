"""A small MLP on rows of numbers, with a DataLoader or with laptime.Loader.

python mlp.py dataloader ROWS.npy ORDER.npy LOSSES.npy        python mlp.py laptime ROWS.pack - LOSSES.npy
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from order import InOrder
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH = 256
EPOCHS = 2
SEED = 0


def loader(kind: str, data: str, order: str):
    if kind == "laptime":
        import laptime

        return laptime.Loader(data, batch_size=BATCH, shuffle=True, seed=SEED)
    rows = torch.from_numpy(np.load(data))
    rows = TensorDataset(rows[:, :-1].contiguous(), rows[:, -1].contiguous())
    return DataLoader(rows, BATCH, sampler=InOrder(order))


def main(kind: str, data: str, order: str, losses: str) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batches = loader(kind, data, order)
    seen = []
    for epoch in range(EPOCHS):
        for x, y in batches:
            loss = nn.functional.mse_loss(model(x).squeeze(1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.append(loss.item())
        print(f"epoch {epoch + 1}, loss {seen[-1]:.6f}")
    np.save(losses, np.array(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
