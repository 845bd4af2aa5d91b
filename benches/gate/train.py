"""A small training: mlp, cnn or transformer, which then spends a share of its CPU time once more.

`python train.py MODEL`; the share is in the file `slower.txt`.
"""

import sys
import time
from pathlib import Path

import torch
from torch import nn

STEPS = {"mlp": 400, "cnn": 60, "transformer": 50}


def mlp():
    model = nn.Sequential(
        nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    return model, torch.randn(64, 128)


def cnn():
    layers = [nn.Conv2d(3, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return model, torch.randn(32, 3, 32, 32)


def transformer():
    layer = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Flatten(), nn.Linear(64 * 64, 10))
    return model, torch.randn(16, 64, 64)


def main():
    torch.manual_seed(0)
    name = sys.argv[1]
    model, inputs = {"mlp": mlp, "cnn": cnn, "transformer": transformer}[name]()
    targets = torch.randint(0, 10, (len(inputs),))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS[name]):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
    end = time.process_time() * (1 + float(Path("slower.txt").read_text()))
    while time.process_time() < end:
        torch.mm(inputs.flatten(1).T, inputs.flatten(1))


main()
