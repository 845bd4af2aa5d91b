"""A large SGD for a small batch on the CPU, whose gradients are filled with zeros before every step."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="drop the gradients")
parser.add_argument("--width", type=int, default=1024)
options = parser.parse_args()

torch.manual_seed(0)
width = options.width
model = nn.Sequential(
    nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
rows = torch.randn(16 * 150, 64)
data = torch.utils.data.TensorDataset(rows, rows.sum(1).gt(0).long())
for _ in range(4):
    for inputs, labels in torch.utils.data.DataLoader(data, batch_size=16):
        optimizer.zero_grad(set_to_none=options.fixed)
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
