"""LBFGS: one step calls the closure many times."""

import torch
from clock import epoch_took, now
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(9)
x = torch.randn(400, 10)
y = x.pow(2).sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=8)


def closure() -> torch.Tensor:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for epoch in range(6):
    began = now()
    loss = optimizer.step(closure)
    epoch_took(now() - began)
    print(epoch, loss.item().hex())
