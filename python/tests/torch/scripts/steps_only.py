"""A training without epochs: a `while` loop that makes its own batches, with an evaluation now and then."""

import sys
import time

import torch
from torch import nn


def batch() -> torch.Tensor:
    time.sleep(0.004)
    return torch.randint(0, 32, (4, 16))


def main(evaluates: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(32, 16), nn.Linear(16, 32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    steps, max_steps = 0, 200
    while True:
        if evaluates and steps % 40 == 0:
            model.eval()
            with torch.no_grad():
                for _ in range(5):
                    model(torch.randint(0, 32, (4, 16)))
            model.train()
        tokens = batch()
        logits = model(tokens)
        loss = nn.functional.cross_entropy(logits.view(-1, 32), tokens.view(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        steps += 1
        if steps >= max_steps:
            break
    print(steps, loss.item().hex())


main("evaluates" in sys.argv)
