"""A training with a validation after each epoch; a long one's first epoch takes minutes."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
torch.manual_seed(0)
epochs, is_long = int(sys.argv[1]), "long" in sys.argv


class Pictures(Dataset):
    """Rows that take about as long to make as a batch takes to train."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return self.rows

    def __getitem__(self, at):
        picture = torch.full((256,), float(at % 7))
        for _ in range(4):
            picture = torch.sin(picture)
        return picture, at % 10


training = DataLoader(Pictures(2_000_000 if is_long else 12_800), batch_size=128, shuffle=True)
validation = DataLoader(Pictures(10_240), batch_size=256)
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(epochs):
    model.train()
    for pictures, kinds in training:
        loss = nn.functional.cross_entropy(model(pictures), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for pictures, kinds in validation:
            correct += (model(pictures).argmax(1) == kinds).sum().item()
    print(epoch, correct)
