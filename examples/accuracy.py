"""A classifier that says how well it does after each epoch, for a chart of accuracy over time.

laptime run -- python examples/accuracy.py
laptime report --svg charts
"""

import argparse

import laptime
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=int, default=6_000)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--epochs", type=int, default=12)
args = parser.parse_args()

torch.set_num_threads(1)
torch.manual_seed(0)


def spirals(rows: int) -> TensorDataset:
    """Points of three arms that wind around each other, and the arm of each."""
    arm = torch.randint(3, (rows,))
    far = torch.rand(rows)
    angle = 5 * far + arm * (2 * torch.pi / 3) + 0.25 * torch.randn(rows)
    return TensorDataset(torch.stack((far * angle.cos(), far * angle.sin()), dim=1), arm)


train = DataLoader(spirals(args.rows), batch_size=args.batch, shuffle=True)
held_out = DataLoader(spirals(2_000), batch_size=500)

model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters())
loss_of = nn.CrossEntropyLoss()


def right(scores: torch.Tensor, arm: torch.Tensor) -> int:
    return int((scores.argmax(dim=1) == arm).sum())


for epoch in range(args.epochs):
    model.train()
    seen = hits = 0
    losses = 0.0
    for points, arm in train:
        optimizer.zero_grad()
        scores = model(points)
        loss = loss_of(scores, arm)
        loss.backward()
        optimizer.step()
        seen, hits = seen + len(arm), hits + right(scores, arm)
        losses += loss.item() * len(arm)
    laptime.measured("loss", losses / seen)
    laptime.measured("accuracy", hits / seen)

    model.eval()
    with torch.no_grad():
        hits = sum(right(model(points), arm) for points, arm in held_out)
    laptime.measured("validation_accuracy", hits / len(held_out.dataset))
    print(f"epoch {epoch + 1}: {hits / len(held_out.dataset):.1%} of the held-out points are right")
