"""A PyTorch training with a loader: a table in memory, packed pictures, or samples that are waited for.

python loader.py [--data table|pictures|storage] [--rows N] [--batch N] [--workers N] [--epochs N]
                 [--evaluate EVERY] [--checkpoint EVERY] [--slow-first]
"""

import argparse
import time
import zlib

import marks
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="table", choices=["table", "pictures", "storage"])
parser.add_argument("--rows", type=int, default=8_192)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--evaluate", type=int, default=1)
parser.add_argument("--checkpoint", type=int, default=0)
parser.add_argument("--slow-first", action="store_true")
args = parser.parse_args()
SIDE = 48


class Pictures(Dataset):
    """Pictures that are unpacked and flipped when they are asked for."""

    def __init__(self, rows: int) -> None:
        chance = np.random.default_rng(1)
        sample = chance.integers(0, 32, (64, 3, SIDE, SIDE), dtype=np.uint8)
        self.packed = [zlib.compress(picture.tobytes()) for picture in sample]
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        packed = self.packed[index % len(self.packed)]
        picture = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(3, SIDE, SIDE)
        return torch.from_numpy(picture[:, :, ::-1].astype(np.float32) / 32), index % 10


class Storage(Dataset):
    """Samples that take a millisecond to arrive."""

    def __init__(self, rows: int) -> None:
        self.samples = torch.randn(rows, 64)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(0.001)
        return self.samples[index], index % 10


class Cached(Dataset):
    """Prepares each sample when it is first asked for, and keeps it."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.kept = {}

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if index not in self.kept:
            time.sleep(0.002)
            self.kept[index] = self.dataset[index]
        return self.kept[index]


def make(rows: int) -> Dataset:
    if args.data == "pictures":
        return Pictures(rows)
    if args.data == "storage":
        return Storage(rows)
    return TensorDataset(torch.randn(rows, 64), torch.randint(0, 10, (rows,)))


def build() -> nn.Module:
    if args.data == "pictures":
        layers = [nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU()]
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    return nn.Sequential(
        nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
    )


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    train_set, test_set = make(args.rows), make(max(args.rows // 8, args.batch))
    if args.slow_first:
        train_set = Cached(train_set)
    train_loader = DataLoader(train_set, args.batch, shuffle=True, num_workers=args.workers)
    test_loader = DataLoader(test_set, args.batch, num_workers=args.workers)
    model = build()
    optimizer = torch.optim.Adam(model.parameters())
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        model.train()
        for inputs, targets in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
            marks.step()
        if args.evaluate and (epoch + 1) % args.evaluate == 0:
            model.eval()
            with torch.no_grad():
                sum(criterion(model(inputs), targets).item() for inputs, targets in test_loader)
        if args.checkpoint and (epoch + 1) % args.checkpoint == 0:
            torch.save(
                {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt"
            )
        marks.epoch()


main()
