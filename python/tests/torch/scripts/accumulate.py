"""Gradient accumulation: four micro-batches to a step."""

import torch
from clock import epoch_took, now
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(3)
x = torch.randn(640, 16)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
accumulation = 4

for epoch in range(3):
    began = now()
    optimizer.zero_grad()
    for i, (inputs, target) in enumerate(loader):
        loss = nn.functional.mse_loss(model(inputs), target) / accumulation
        loss.backward()
        if (i + 1) % accumulation == 0:
            optimizer.step()
            optimizer.zero_grad()
    epoch_took(now() - began)
    scheduler.step()
    print(epoch, loss.item().hex(), scheduler.get_last_lr())
