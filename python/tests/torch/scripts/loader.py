"""A plain loop over a DataLoader, with an evaluation and a checkpoint after each epoch."""

import os
import tempfile

import torch
from clock import epoch_took, now
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
x, y = torch.randn(1000, 32), torch.randint(0, 4, (1000,))
train = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=64, shuffle=True)
test = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=100)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    model.train()
    began = now()
    total = 0.0
    for inputs, labels in train:
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    epoch_took(now() - began)
    model.eval()
    right = 0
    with torch.no_grad():
        for inputs, labels in test:
            right += (model(inputs).argmax(1) == labels).sum().item()
    with tempfile.TemporaryDirectory() as folder:
        torch.save(model.state_dict(), os.path.join(folder, "model.pt"))
    print(epoch, total.hex(), right)
print(torch.get_rng_state().sum().item())
