"""Trains a head; the layer before it gets gradients that no optimizer uses."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 2))
optimizer = torch.optim.SGD(net[2].parameters(), lr=0.1)
for epoch in range(2):
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(torch.ones(4, 3)), torch.zeros(4, dtype=torch.long))
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
