"""A training that saves after every epoch and is hard to probe in one way: `python probed.py HOW [EPOCHS]`."""

import fcntl
import os
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

HOW = sys.argv[1]
EPOCHS = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000


def train() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rows = TensorDataset(torch.randn(640, 16), torch.randn(640, 1))
    loader = DataLoader(rows, batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(EPOCHS):
        for step, (inputs, targets) in enumerate(loader):
            if HOW == "hourly" and step == 1:
                time.sleep(3600)
            if HOW == "crash" and epoch == 3:
                raise ValueError("no data")
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
        torch.save(model.state_dict(), "model.pt")


if HOW == "never":
    time.sleep(3600)
if HOW == "fork" and os.fork() == 0:
    time.sleep(3600)
if HOW == "lock":
    fcntl.flock(open("train.lock", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB)
train()
