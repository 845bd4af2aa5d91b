"""Several trainings without a loader: the loop over rates is no epoch loop, the one inside it is."""

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(11)
x = torch.randn(120, 8)
y = x.sum(1, keepdim=True)
for rate in (0.1, 0.01):
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for i in range(3):
        for start in range(0, 120, 40):
            loss = (model(x[start : start + 40]) - y[start : start + 40]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(rate, i, loss.item().hex())
