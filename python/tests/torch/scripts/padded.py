"""Batches of two sequences of 3 and 5 tokens, padded to 10, with a mask that says so; some masks say something else."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
LENGTHS = (3, 5)
kind = torch.float32 if "added" in sys.argv else torch.int64


def collate(rows):
    tokens = torch.zeros(len(rows), 10, dtype=torch.long)
    for number, row in enumerate(rows):
        tokens[number, : len(row)] = row
    return {"input_ids": tokens, "attention_mask": (tokens > 0).to(kind)}


rows = [torch.arange(1, 1 + LENGTHS[number % 2]) for number in range(8)]
model = nn.Sequential(nn.Embedding(10, 4), nn.Flatten(), nn.Linear(40, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for batch in torch.utils.data.DataLoader(rows, batch_size=2, collate_fn=collate):
        optimizer.zero_grad()
        loss = model(batch["input_ids"]).square().mean()
        loss.backward()
        optimizer.step()
        print(epoch, loss.item(), torch.rand(1).item())
