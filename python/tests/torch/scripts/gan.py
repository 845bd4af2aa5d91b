"""Two models, two optimizers, one loader: both updates make one step."""

import torch
from clock import epoch_took, now
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(8)
loader = DataLoader(TensorDataset(torch.randn(300, 8) * 2 + 1), batch_size=32, drop_last=True)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
discriminator = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()

for epoch in range(2):
    began = now()
    for (real,) in loader:
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        fake = generator(torch.randn(len(real), 4))
        opt_d.zero_grad()
        loss_d = bce(discriminator(real), ones) + bce(discriminator(fake.detach()), zeros)
        loss_d.backward()
        opt_d.step()
        opt_g.zero_grad()
        loss_g = bce(discriminator(fake), ones)
        loss_g.backward()
        opt_g.step()
    epoch_took(now() - began)
    print(epoch, loss_d.item().hex(), loss_g.item().hex())
