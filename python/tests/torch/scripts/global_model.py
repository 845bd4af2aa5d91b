"""Everything lives in the module's globals, until the interpreter takes it down."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for _ in range(3):
        loss = model(torch.ones(5, 2)).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
print(loss.item().hex())
