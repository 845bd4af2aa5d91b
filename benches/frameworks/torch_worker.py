"""Trains the reference models in eager PyTorch.

The training is written as one ordinarily writes it: whole tensors, slices of a permutation, no DataLoader,
`loss.item()` at every step.
"""

from __future__ import annotations

import torch
from serve import (
    BLOCKS,
    CLASSES,
    EMBEDDING,
    HEADS,
    INNER,
    SIDE,
    STATE,
    VOCABULARY,
    WIDTH,
    data,
    is_regression,
    learning_rate,
    serve,
)
from torch import nn

RECURRENT = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


class Recurrent(nn.Module):
    def __init__(self, layer: type[nn.RNNBase]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, EMBEDDING)
        self.recurrent = layer(EMBEDDING, STATE, batch_first=True)
        self.dense = nn.Linear(STATE, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.dense(self.recurrent(self.embedding(tokens))[0]).flatten(0, 1)


class Transformer(nn.Module):
    def __init__(self, length: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(length, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, INNER, dropout=0.0, norm_first=True, batch_first=True
        )
        self.blocks = nn.TransformerEncoder(
            layer, BLOCKS, norm=nn.LayerNorm(WIDTH), enable_nested_tensor=False
        )
        self.mask = nn.Transformer.generate_square_subsequent_mask(length)
        self.dense = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.places.weight
        return self.dense(self.blocks(x, mask=self.mask, is_causal=True)).flatten(0, 1)


def network(model: str, length: int) -> nn.Module:
    if model == "linear":
        return nn.Linear(1, 1)
    if model == "mlp":
        return nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
    if model == "cnn":
        return nn.Sequential(
            nn.Conv2d(1, 32, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(32 * 13 * 13, CLASSES),
        )
    if model == "transformer":
        return Transformer(length)
    return Recurrent(RECURRENT[model])


class TorchWorkload:
    """One model with its data and optimizer."""

    def __init__(self, model: str, rows: int, batch: int) -> None:
        torch.manual_seed(0)
        x, y = (torch.from_numpy(part) for part in data(model, rows))
        self.rows, self.batch = rows, batch
        self.x = x.reshape(rows, 1, SIDE, SIDE) if model == "cnn" else x
        self.y = y if is_regression(model) else y.long()
        self.sequences = y.ndim == 2 and not is_regression(model)
        self.network = network(model, x.shape[1])
        optimizer = torch.optim.SGD if model == "linear" else torch.optim.Adam
        self.optimizer = optimizer(self.network.parameters(), lr=learning_rate(model))
        self.criterion = nn.MSELoss() if is_regression(model) else nn.CrossEntropyLoss()

    def epoch(self) -> float:
        total = 0.0
        order = torch.randperm(self.rows)
        for start in range(0, self.rows, self.batch):
            chosen = order[start : start + self.batch]
            x, y = self.x[chosen], self.y[chosen]
            self.optimizer.zero_grad()
            loss = self.criterion(self.network(x), y.flatten() if self.sequences else y)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(chosen)
        return total / self.rows


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve(f"PyTorch {torch.__version__} eager", TorchWorkload)
