"""Trains the reference models in PyTorch when asked to, and tells how long it took.

A long-lived worker: one JSON request a line on stdin, one JSON answer a line on stdout. `benches/src/torch.rs`
starts it and takes turns with it. The training is written as one ordinarily writes it in eager PyTorch: whole
tensors, slices of a permutation, no DataLoader, `loss.item()` at every step.

    {"workload": {"model": "mlp", "rows": 10000, "batch": 32}, "epochs": 2}
    -> {"wall_s": 0.26, "cpu_s": 0.26, "loss": 0.41}
"""

import json
import sys
import time

import torch
from torch import nn

SIDE = 28
CLASSES = 10
VOCABULARY = 20
RECURRENT = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


class Recurrent(nn.Module):
    def __init__(self, layer: type[nn.RNNBase]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 32)
        self.recurrent = layer(32, 64, batch_first=True)
        self.dense = nn.Linear(64, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.dense(self.recurrent(self.embedding(tokens))[0]).flatten(0, 1)


class Transformer(nn.Module):
    def __init__(self, length: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, 128), nn.Embedding(length, 128)
        layer = nn.TransformerEncoderLayer(
            128, 4, 512, dropout=0.0, norm_first=True, batch_first=True
        )
        self.blocks = nn.TransformerEncoder(
            layer, 4, norm=nn.LayerNorm(128), enable_nested_tensor=False
        )
        self.mask = nn.Transformer.generate_square_subsequent_mask(length)
        self.dense = nn.Linear(128, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.places.weight
        return self.dense(self.blocks(x, mask=self.mask, is_causal=True)).flatten(0, 1)


class Workload:
    """One model with its data and optimizer; further requests train it on."""

    def __init__(self, model: str, rows: int, batch: int) -> None:
        torch.manual_seed(0)
        self.rows, self.batch = rows, batch
        if model == "linear":
            self.x = torch.rand(rows, 1) * 2 - 1
            self.y = 2 * self.x + 1
            self.network = nn.Linear(1, 1)
            self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.01)
        elif model == "mlp":
            self.x = torch.rand(rows, 10) * 2 - 1
            self.y = torch.sin(3 * self.x[:, :1]) + self.x[:, :1] * self.x[:, -1:]
            self.network = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
            self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3)
        elif model == "cnn":
            self.y = torch.randint(0, CLASSES, (rows,))
            patterns = torch.rand(CLASSES, 1, SIDE, SIDE)
            self.x = patterns[self.y] + 0.3 * torch.randn(rows, 1, SIDE, SIDE)
            self.network = nn.Sequential(
                nn.Conv2d(1, 32, 3),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Linear(32 * 13 * 13, CLASSES),
            )
            self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3)
        elif model in RECURRENT or model == "transformer":
            length = 64 if model == "transformer" else 50
            tokens = torch.randint(0, VOCABULARY, (rows, length + 1))
            self.x, self.y = tokens[:, :-1], tokens[:, 1:]
            self.network = (
                Transformer(length) if model == "transformer" else Recurrent(RECURRENT[model])
            )
            self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3)
        else:
            raise ValueError(f"unknown model {model!r}")
        self.criterion = nn.MSELoss() if model in ("linear", "mlp") else nn.CrossEntropyLoss()
        self.sequences = model in RECURRENT or model == "transformer"

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


def main() -> None:
    torch.set_num_threads(1)
    print(
        json.dumps(
            {"engine": f"torch {torch.__version__} eager", "threads": torch.get_num_threads()}
        ),
        flush=True,
    )
    workloads: dict[str, Workload] = {}
    for line in sys.stdin:
        request = json.loads(line)
        key = json.dumps(request["workload"], sort_keys=True)
        if key not in workloads:
            workloads[key] = Workload(**request["workload"])
        workload, loss = workloads[key], 0.0
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(request["epochs"]):
            loss = workload.epoch()
        answer = {
            "wall_s": time.perf_counter() - wall,
            "cpu_s": time.process_time() - cpu,
            "loss": loss,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
