"""Trains a bag-of-words classifier of short texts.

The fault: the collate function counts the words of each text by going through the whole vocabulary.
"""

from __future__ import annotations

import argparse
import random

import torch
from torch import nn
from torch.utils.data import DataLoader

VOCABULARY = 400
Text = tuple[list[int], int]


def texts(count: int) -> list[Text]:
    draw = random.Random(0)
    return [
        ([draw.randrange(VOCABULARY) for _ in range(draw.randrange(10, 40))], draw.randrange(4))
        for _ in range(count)
    ]


def collate_slowly(batch: list[Text]) -> tuple[torch.Tensor, torch.Tensor]:
    counts = [[float(words.count(word)) for word in range(VOCABULARY)] for words, _ in batch]
    return torch.tensor(counts), torch.tensor([label for _, label in batch])


def collate(batch: list[Text]) -> tuple[torch.Tensor, torch.Tensor]:
    counts = [torch.bincount(torch.tensor(words), minlength=VOCABULARY) for words, _ in batch]
    return torch.stack(counts).float(), torch.tensor([label for _, label in batch])


def train(collate_fn, epochs: int) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(VOCABULARY, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 4)
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    loader = DataLoader(texts(4096), 64, shuffle=True, collate_fn=collate_fn)
    for epoch in range(epochs):
        total = 0.0
        for counts, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(counts), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    train(collate if options.fixed else collate_slowly, options.epochs)
