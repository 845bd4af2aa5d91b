"""Whole tensors, no loader: each turn of the loop is an epoch of one step."""

import torch
import torch.nn.functional as F
from clock import epoch_took, now
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1)
X = torch.randn(2000, 64)
Y = X @ torch.randn(64, 1)
X_test, Y_test = X[:200], Y[:200]
model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)


def main() -> None:
    for epoch in range(20):
        model.train()
        began = now()
        pred = model(X)
        loss = F.mse_loss(pred, Y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        epoch_took(now() - began)
        if epoch % 5 == 4:
            model.eval()
            with torch.inference_mode():
                print(epoch, loss.item().hex(), F.mse_loss(model(X_test), Y_test).item().hex())


main()
