"""Batches copied to a device, as people write it, with pinned memory and with `.cuda()`."""

import torch
from clock import epoch_took, now
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_num_threads(1)
torch.manual_seed(0)
inputs, labels = torch.randn(640, 256), torch.randint(0, 10, (640,))
loader = DataLoader(TensorDataset(inputs, labels), batch_size=64, pin_memory=device == "cuda")
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
optimizer = torch.optim.Adam(model.parameters())
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    began = now()
    total = 0.0
    for x, y in loader:
        x = x.to(device, non_blocking=True)
        y = y.cuda() if device == "cuda" else y
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    epoch_took(now() - began)
    print(f"epoch {epoch} loss {total / len(loader):.6f}")
