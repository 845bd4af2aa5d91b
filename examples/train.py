"""A plain PyTorch training to sweep over: 10 features, 64 hidden units, one output, Adam.

laptime sweep -p rows=1000,10000,100000 -- python examples/train.py --rows {rows}
"""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=int, default=10_000)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()

torch.set_num_threads(1)
torch.manual_seed(0)
features = torch.randn(args.rows, 10)
target = features @ torch.randn(10, 1) + 0.1 * torch.randn(args.rows, 1)

model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters())
loss_of = nn.MSELoss()

for epoch in range(args.epochs):
    order = torch.randperm(args.rows)
    for start in range(0, args.rows, args.batch):
        chosen = order[start : start + args.batch]
        optimizer.zero_grad()
        loss = loss_of(model(features[chosen]), target[chosen])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}")
