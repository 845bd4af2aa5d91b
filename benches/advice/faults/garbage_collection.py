"""Trains a classifier of texts that lie in memory as lists of words, one small list of features a word.

The fault: those lists bring on full garbage collections, and each goes through every text in memory.
"""

from __future__ import annotations

import argparse
import gc

import numpy as np
import torch
from torch import nn

TEXTS, WORDS, VOCABULARY, BATCH, STEPS = 150_000, 100, 5000, 96, 60
NAMES = [f"word{number}" for number in range(VOCABULARY)]


def texts() -> list[list[str]]:
    drawn = np.random.default_rng(0).integers(0, VOCABULARY, (TEXTS, WORDS))
    return [[NAMES[number] for number in row] for row in drawn.tolist()]


def train(corpus: list[list[str]], epochs: int) -> None:
    torch.manual_seed(0)
    numbers = {name: number for number, name in enumerate(NAMES)}
    words, places = nn.Embedding(VOCABULARY, 64), nn.Embedding(WORDS, 64)
    head = nn.Linear(64, 4)
    optimizer = torch.optim.SGD(
        [*words.parameters(), *places.parameters(), *head.parameters()], 0.1
    )
    order = np.random.default_rng(1)
    for epoch in range(epochs):
        total = 0.0
        for _ in range(STEPS):
            batch = [corpus[at] for at in order.integers(0, TEXTS, BATCH)]
            features = [[[numbers[word], at] for at, word in enumerate(text)] for text in batch]
            rows = torch.tensor(features)
            labels = rows[:, :, 0].sum(dim=1) % 4
            optimizer.zero_grad()
            outputs = head((words(rows[:, :, 0]) + places(rows[:, :, 1])).relu().mean(dim=1))
            loss = nn.functional.cross_entropy(outputs, labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / STEPS:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    corpus = texts()
    if options.fixed:
        gc.freeze()
        gc.disable()
    train(corpus, options.epochs)
