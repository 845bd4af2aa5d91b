"""Loops as people write them, one by its name on the command line; the number of its steps is printed."""

import argparse
import itertools
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

try:
    from tqdm import tqdm, trange
except ImportError:
    tqdm = trange = None

BATCHES = 5


class Training:
    """A model with its optimizer and data; counts what is done with it."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        rows = TensorDataset(torch.randn(8 * BATCHES, 4), torch.randn(8 * BATCHES, 1))
        self.loader = DataLoader(rows, batch_size=8)
        self.model = nn.Linear(4, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.steps = 0

    def step(self, batch) -> float:
        features, target = batch
        loss = ((self.model(features) - target) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return loss.item()

    def epoch(self) -> None:
        for batch in self.loader:
            self.step(batch)


def a_range() -> int:
    it = Training()
    for epoch in range(4):
        it.epoch()
    return it.steps


def a_list() -> int:
    it = Training()
    for lr in [0.1, 0.05, 0.01]:
        for group in it.optimizer.param_groups:
            group["lr"] = lr
        it.epoch()
    return it.steps


def a_while() -> int:
    it = Training()
    epoch = 0
    while epoch < 4:
        it.epoch()
        epoch += 1
    return it.steps


def steps_only() -> int:
    it = Training()
    for step in range(12):
        it.step((torch.randn(8, 4), torch.randn(8, 1)))
    return it.steps


def max_steps() -> int:
    it = Training()
    max_steps, done = 12, 0
    while done < max_steps:
        for batch in it.loader:
            it.step(batch)
            done += 1
            if done >= max_steps:
                break
    return it.steps


def max_steps_over_epochs() -> int:
    """Whichever comes first: the steps, in the third epoch."""
    it = Training()
    max_steps, done = 12, 0
    for epoch in range(10):
        for batch in it.loader:
            it.step(batch)
            done += 1
            if done >= max_steps:
                return it.steps
    return it.steps


def max_steps_with_flag() -> int:
    it = Training()
    max_train_steps, done = 12, 0
    for epoch in range(10):
        for batch in it.loader:
            it.step(batch)
            done += 1
            if done >= max_train_steps:
                break
        if done >= max_train_steps:
            break
    return it.steps


def early_stop() -> int:
    it = Training()
    best, patience, bad = float("inf"), 2, 0
    for epoch in range(20):
        it.epoch()
        value = 1.0 if epoch < 2 else 2.0
        if value < best:
            best, bad = value, 0
        else:
            bad += 1
            if bad > patience:
                break
    return it.steps


class Stopper:
    """As in many a training: says when it is enough."""

    def __init__(self) -> None:
        self.left = 3

    def __call__(self) -> bool:
        self.left -= 1
        return self.left == 0


def early_stop_object() -> int:
    it = Training()
    stopper = Stopper()
    for epoch in range(20):
        it.epoch()
        if stopper():
            print("enough")
            break
    return it.steps


def folds() -> int:
    total = 0
    for fold in range(3):
        it = Training()
        for epoch in range(4):
            it.epoch()
        total += it.steps
    return total


def one_pass() -> int:
    it = Training()
    for batch in it.loader:
        it.step(batch)
    return it.steps


def loader_with_break() -> int:
    """Each epoch is only as long as is wanted."""
    it = Training()
    for epoch in range(4):
        for i, batch in enumerate(it.loader):
            if i >= 3:
                break
            it.step(batch)
    return it.steps


def cycled() -> int:
    it = Training()
    for i, batch in enumerate(itertools.cycle(it.loader)):
        it.step(batch)
        if i + 1 == 12:
            break
    return it.steps


def count_of_epochs() -> int:
    it = Training()
    for epoch in itertools.count():
        if epoch >= 4:
            break
        it.epoch()
    return it.steps


def a_bar() -> int:
    it = Training()
    for epoch in tqdm(range(4), disable=True):
        for batch in tqdm(it.loader, disable=True):
            it.step(batch)
    return it.steps


def a_bar_of_a_number() -> int:
    it = Training()
    bar = trange(1, 5, disable=True)
    for epoch in bar:
        bar.set_description(str(epoch))
        it.epoch()
    return it.steps


def settings() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=90)
    args = parser.parse_args(["--epochs", "4"])
    it = Training()
    for epoch in range(args.epochs):
        it.epoch()
    return it.steps


def resumed() -> int:
    """Two of six epochs were made before."""
    it = Training()
    start_epoch = 2
    for epoch in range(start_epoch, 6):
        it.epoch()
    return it.steps


def resumed_while() -> int:
    it = Training()
    state = {"epoch": 2}
    epoch = state["epoch"]
    while epoch < 6:
        it.epoch()
        epoch += 1
    return it.steps


def resumed_steps() -> int:
    it = Training()
    step, total_steps = 8, 20
    while step < total_steps:
        it.step((torch.randn(8, 4), torch.randn(8, 1)))
        step += 1
    return it.steps


def until_it_is_good() -> int:
    """Nothing in the code says how long."""
    it = Training()
    loss = 10.0
    while loss > 0.5 and it.steps < 15:
        for batch in it.loader:
            loss = it.step(batch) + 10
    return it.steps


def skipped_epochs() -> int:
    """Some turns of the loop are no epochs."""
    it = Training()
    for epoch in range(6):
        if epoch < 2:
            continue
        it.epoch()
    return it.steps


def accumulated() -> int:
    """Two batches an update."""
    it = Training()
    for epoch in range(4):
        for i, (features, target) in enumerate(it.loader):
            ((it.model(features) - target) ** 2).mean().backward()
            if i % 2 == 1:
                it.optimizer.step()
                it.optimizer.zero_grad()
                it.steps += 1
    return it.steps


def in_phases() -> int:
    """Two loops after each other, one optimizer: what the second will make is not known in the first."""
    it = Training()
    for epoch in range(2):
        it.epoch()
    for epoch in range(3):
        it.epoch()
    return it.steps


print(globals()[sys.argv[1]]())
