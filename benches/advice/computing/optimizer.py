"""A large Adam for a small batch on the CPU: the update of one parameter after the other takes most of each step."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="let one kernel update all parameters")
parser.add_argument("--kind", default="Adam")
parser.add_argument("--width", type=int, default=1024)
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--epochs", type=int, default=4)
options = parser.parse_args()

torch.manual_seed(0)
width = options.width
model = nn.Sequential(
    nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
)
kind = getattr(torch.optim, options.kind)
optimizer = kind(model.parameters(), lr=1e-3, **({"fused": True} if options.fixed else {}))
rows = torch.randn(options.batch * 60, 64)
data = torch.utils.data.TensorDataset(rows, rows.sum(1).gt(0).long())
loader = torch.utils.data.DataLoader(data, batch_size=options.batch)
for _ in range(options.epochs):
    for inputs, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
