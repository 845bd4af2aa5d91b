"""Loaders that ask for the next batch before they hand out the one they have, as several libraries' do.

`holds` keeps the loader's iterator to the end, `lets_go` lets a `for` loop drop it before the last batch, and
`stays` never finishes the generator: the loop around it counts the batches.
"""

import sys
from collections.abc import Iterator
from typing import Any

import torch
from clock import epoch_took, now
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def holds(loader: Any) -> Iterator[Any]:
    batches = iter(loader)
    current = next(batches)
    for following in batches:
        yield current
        current = following
    yield current


def lets_go(loader: Any) -> Iterator[Any]:
    current = None
    for following in loader:
        if current is not None:
            yield current
        current = following
    yield current


def stays(loader: Any) -> Iterator[Any]:
    yield from holds(loader)
    raise AssertionError("nobody asks for more batches than there are")


def main(kind: str) -> None:
    torch.manual_seed(0)
    rows = TensorDataset(torch.randn(160, 8), torch.randn(160, 1))
    loader = DataLoader(rows, batch_size=16)
    held_out = DataLoader(rows, batch_size=32)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(3):
        began = now()
        batches = {"holds": holds, "lets_go": lets_go, "stays": stays}[kind](loader)
        for _ in range(len(loader)):
            features, target = next(batches)
            loss = nn.functional.mse_loss(model(features), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if kind != "stays":
            assert next(batches, None) is None
        epoch_took(now() - began)
        model.eval()
        with torch.no_grad():
            held = [nn.functional.mse_loss(model(x), y).item() for x, y in held_out]
        model.train()
        torch.save(model.state_dict(), "/dev/null")
        print(epoch, loss.item().hex(), sum(held).hex())


main(sys.argv[1])
