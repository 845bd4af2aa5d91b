"""A loader made so long that no pass over it ends; the steps are counted by the script."""

import torch
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset


def main() -> None:
    torch.manual_seed(0)
    rows = TensorDataset(torch.randn(100, 8), torch.randn(100, 1))
    sampler = RandomSampler(rows, replacement=True, num_samples=int(1e10))
    batches = iter(DataLoader(rows, batch_size=4, sampler=sampler))
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(64):
        features, target = next(batches)
        loss = ((model(features) - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 16 == 15:
            print(step, loss.item().hex())


main()
