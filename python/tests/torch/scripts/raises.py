"""A training that fails in its second epoch."""

import torch
from clock import epoch_took, now
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(12)
loader = DataLoader(TensorDataset(torch.randn(100, 8)), batch_size=10)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    began = now()
    for i, (inputs,) in enumerate(loader):
        loss = model(inputs).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        if epoch == 1 and i == 4:
            raise ValueError("the loss is wrong")
        optimizer.step()
    epoch_took(now() - began)
    print(epoch, loss.item().hex())
