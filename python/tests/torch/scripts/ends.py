"""Ends in mid-epoch with two workers at work: `ends.py finish|fail|kill fork|spawn`."""

import os
import signal
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    how, method = sys.argv[1:]
    torch.set_num_threads(1)
    rows = TensorDataset(torch.randn(400, 64))
    loader = DataLoader(rows, batch_size=4, num_workers=2, multiprocessing_context=method)
    model = nn.Linear(64, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        for step, (inputs,) in enumerate(loader):
            optimizer.zero_grad()
            model(inputs).mean().backward()
            optimizer.step()
            if epoch == 1 and step == 20:
                if how == "fail":
                    raise RuntimeError("in mid-epoch")
                if how == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
