"""A model with one planted slow layer, residual blocks that work in place, and parts that no module does.

Words: `compiled` compiles it, `compiled-step` a function around it, `short` ends after two steps, `saved` pickles the
model after each step, `checkpointed` computes a block again on the way back, `two` trains a second model too.
"""

import io
import pickle
import sys
import time

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(7)
torch.set_num_threads(1)
words = set(sys.argv[1:])
COMPILED = {"compiled", "compiled-step"}


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.relu = nn.ReLU(inplace=True)
        self.second = nn.Linear(width, width)

    def forward(self, rows):
        inner = self.second(self.relu(self.first(rows)))
        inner += rows
        return self.relu(inner)


class SlowBack(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows):
        return rows.clone()

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(0.006)
        return gradient


class Planted(nn.Module):
    def forward(self, rows):
        time.sleep(0.004)
        return SlowBack.apply(rows)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv1d(1, 4, 3, padding=1)
        self.body = nn.Sequential(Block(32), Block(32))
        self.planted = Planted() if not words & COMPILED else nn.Identity()
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)
        self.head = nn.Linear(32, 3)

    def forward(self, rows):
        rows = self.stem(rows)
        if "checkpointed" in words:
            rows = checkpoint(self.body, rows, use_reentrant=False)
        else:
            rows = self.body(rows)
        rows = self.planted(rows)
        rows, _ = self.attention(rows, rows, rows, need_weights=False)
        return self.head(rows.mean(1) * 2.0)


model = Net()
critic = nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 1))
called = torch.compile(model, backend="eager") if "compiled" in words else model
weights = [*model.parameters(), *critic.parameters()]
optimizer = torch.optim.SGD(weights, lr=0.05)


def loss_of(rows):
    outputs = called(rows)
    return critic(outputs).square().mean() if "two" in words else outputs.square().mean()


if "compiled-step" in words:
    loss_of = torch.compile(loss_of, backend="eager")

for epoch in range(1 if "short" in words else 3):
    for _ in range(2 if "short" in words else 8):
        optimizer.zero_grad()
        loss = loss_of(torch.randn(16, 1, 32))
        if "saved" in words:
            assert b"laptime" not in pickle.dumps(model)
            torch.save(model, io.BytesIO())
        loss.backward()
        optimizer.step()
    print(epoch, loss.item().hex())

if words & COMPILED:
    from torch._dynamo.utils import counters

    print(dict(counters["frames"]), dict(counters["stats"]))
hooks = [len(one._forward_hooks) + len(one._forward_pre_hooks) for one in model.modules()]
print("hooks left:", sum(hooks))
