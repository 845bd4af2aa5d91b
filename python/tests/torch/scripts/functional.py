"""No module at all: a weight, a formula, an optimizer."""

import torch

torch.set_num_threads(1)
torch.manual_seed(16)
x = torch.randn(300, 5)
y = x @ torch.tensor([[1.0], [2.0], [3.0], [4.0], [5.0]])
weight = torch.zeros(5, 1, requires_grad=True)
optimizer = torch.optim.Adam([weight], lr=0.1)
for epoch in range(8):
    optimizer.zero_grad()
    loss = (x @ weight - y).square().mean()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item().hex())
