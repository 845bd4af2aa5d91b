"""Two loaders side by side, the second shorter and started again: the first one's passes are the epochs."""

import torch
from clock import epoch_took, now
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(15)
labelled = DataLoader(TensorDataset(torch.randn(120, 8)), batch_size=10, shuffle=True)
unlabelled = DataLoader(TensorDataset(torch.randn(50, 8)), batch_size=10, shuffle=True)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
others = iter(unlabelled)
for epoch in range(2):
    began = now()
    for (inputs,) in labelled:
        try:
            (more,) = next(others)
        except StopIteration:
            others = iter(unlabelled)
            (more,) = next(others)
        loss = model(inputs).pow(2).mean() + 0.1 * model(more).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    epoch_took(now() - began)
    print(epoch, loss.item().hex())
