"""A PyTorch training that counts steps and not epochs: a small transformer on random tokens.

python steps.py [--steps N] [--batch N] [--evaluate EVERY] [--checkpoint EVERY]
"""

import argparse

import marks
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1_000)
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--evaluate", type=int, default=200)
parser.add_argument("--checkpoint", type=int, default=500)
args = parser.parse_args()
TOKENS, WIDTH, LENGTH = 64, 64, 32


class Transformer(nn.Module):
    """Two layers that predict the next token."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(TOKENS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True, dropout=0.0)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(WIDTH, TOKENS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embed(tokens)))


def loss_of(model: nn.Module) -> torch.Tensor:
    tokens = torch.randint(0, TOKENS, (args.batch, LENGTH + 1))
    logits = model(tokens[:, :-1])
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(args.steps):
        loss = loss_of(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        marks.step()
        if args.evaluate and (step + 1) % args.evaluate == 0:
            model.eval()
            with torch.no_grad():
                sum(loss_of(model).item() for _ in range(20))
            model.train()
        if args.checkpoint and (step + 1) % args.checkpoint == 0:
            torch.save(model.state_dict(), "last.pt")


main()
