"""Marks of the user's own come first: `laptime.epochs` and `laptime.batches` beside the hooks."""

import laptime
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(19)
loader = DataLoader(TensorDataset(torch.randn(100, 8)), batch_size=20)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in laptime.epochs(2):
    for (inputs,) in laptime.batches(loader):
        loss = model(inputs).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item().hex())
weights = torch.zeros(8, 1, requires_grad=True)
optimizer = torch.optim.SGD([weights], lr=0.01)
for _ in laptime.epochs(2):
    for k in range(5):
        loss = (torch.ones(4, 8) @ weights - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item().hex())
