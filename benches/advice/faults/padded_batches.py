"""Trains a small transformer on sentences of 8 to 64 tokens, batch by batch with the mask that says what is padding.

The fault: every batch is padded to the 256 tokens that the model could take, not to its own longest sentence.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

LONGEST = 256
TOKENS = 1000
WIDTH = 64


class Sentences(Dataset):
    def __init__(self, count: int) -> None:
        lengths = torch.randint(8, 65, (count,))
        self.rows = [torch.randint(1, TOKENS, (int(length),)) for length in lengths]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> torch.Tensor:
        return self.rows[at]


def collate(rows: list[torch.Tensor], to_longest: bool) -> dict[str, torch.Tensor]:
    length = max(len(row) for row in rows) if to_longest else LONGEST
    tokens = torch.zeros(len(rows), length, dtype=torch.long)
    for number, row in enumerate(rows):
        tokens[number, : len(row)] = row
    labels = torch.tensor([int(row[0]) % 2 for row in rows])
    return {"input_ids": tokens, "attention_mask": (tokens > 0).long(), "labels": labels}


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.hidden = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        inputs = self.embedding(input_ids)
        mixed, _ = self.attention(inputs, inputs, inputs, attention_mask == 0, need_weights=False)
        hidden = self.hidden(inputs + mixed) * attention_mask[..., None]
        return self.head(hidden.sum(1) / attention_mask.sum(1, keepdim=True))


def train(epochs: int, to_longest: bool) -> None:
    torch.manual_seed(0)
    data, net = Sentences(32 * 40), Classifier()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    loader = DataLoader(data, 32, shuffle=True, collate_fn=lambda rows: collate(rows, to_longest))
    for epoch in range(epochs):
        total = 0.0
        for batch in loader:
            optimizer.zero_grad()
            logits = net(batch["input_ids"], batch["attention_mask"])
            loss = nn.functional.cross_entropy(logits, batch["labels"])
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    train(options.epochs, to_longest=options.fixed)
