"""Distillation: a frozen teacher in eval mode inside the step, and an evaluation in mid-epoch."""

import torch
from clock import epoch_took, now
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(14)
x = torch.randn(400, 16)
train = DataLoader(TensorDataset(x[:300]), batch_size=30, shuffle=True)
valid = DataLoader(TensorDataset(x[300:]), batch_size=50)
teacher = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2)).eval()
student = nn.Linear(16, 2)
optimizer = torch.optim.SGD(student.parameters(), lr=0.05)


@torch.no_grad()
def evaluate() -> float:
    student.eval()
    worst = 0.0
    for (inputs,) in valid:
        worst = max(worst, (student(inputs) - teacher(inputs)).abs().max().item())
    student.train()
    return worst


for epoch in range(2):
    began = now()
    for i, (inputs,) in enumerate(train):
        with torch.no_grad():
            wanted = teacher(inputs)
        loss = nn.functional.mse_loss(student(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 5 == 4:
            print(epoch, i, loss.item().hex(), evaluate().hex())
    epoch_took(now() - began)
