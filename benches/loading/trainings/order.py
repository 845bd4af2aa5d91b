"""The order in which `laptime.Loader` visits the rows of a pack, for a training that is to follow it without laptime."""

from __future__ import annotations

import numpy as np


class InOrder:
    """A sampler for `DataLoader`: one line of `path` for each epoch, a row number for each row."""

    def __init__(self, path: str) -> None:
        self.orders = np.load(path)
        self.epoch = 0

    def __len__(self) -> int:
        return self.orders.shape[1]

    def __iter__(self):
        order = self.orders[self.epoch]
        self.epoch += 1
        return iter(order.tolist())
