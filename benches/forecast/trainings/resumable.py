"""A PyTorch training that saves after every epoch and goes on from there: `python resumable.py --epochs N [--resume]`."""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=40)
parser.add_argument("--compile-s", type=float, default=3.0)
parser.add_argument("--resume", action="store_true")
args = parser.parse_args()


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(16_384, 64), torch.randint(0, 10, (16_384,)))
    train_loader = DataLoader(data, batch_size=64, shuffle=True)
    test_loader = DataLoader(data, batch_size=64)
    model = nn.Sequential(
        nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
    )
    optimizer = torch.optim.Adam(model.parameters())
    criterion = nn.CrossEntropyLoss()
    begin = 0
    if args.resume:
        kept = torch.load("last.pt")
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        begin = kept["epoch"] + 1
    for epoch in range(begin, args.epochs):
        for step, (inputs, targets) in enumerate(train_loader):
            if epoch == begin and step == 0:
                time.sleep(args.compile_s)  # As compiling would take.
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            sum(criterion(model(inputs), targets).item() for inputs, targets in test_loader)
        torch.save(
            {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch},
            "last.pt",
        )


main()
