"""Trains on batches that a slow function makes, by so many workers; or shows when an iterable dataset is closed."""

import gc
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


def collate(rows):
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
    return torch.stack(rows)


class Lines(IterableDataset):
    def __iter__(self):
        try:
            for _ in range(100):
                yield torch.ones(4)
        finally:
            print("closed")


def train(batches, net):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for rows in batches:
        optimizer.zero_grad()
        net(rows).sum().backward()
        optimizer.step()


torch.manual_seed(0)
net = nn.Linear(4, 1)
if sys.argv[1] == "iterable":
    gc.disable()
    iterator = iter(DataLoader(Lines(), 4))
    train([next(iterator) for _ in range(10)], net)
    del iterator
else:
    workers = int(sys.argv[1])
    loader = DataLoader(torch.randn(256, 4), 4, collate_fn=collate, num_workers=workers)
    for _ in range(2):
        train(loader, net)
