"""A training alone in its group: `unhooked.py without` a torch that has hooks, or with hooks that are `failing`."""

import sys

import torch
import torch.distributed as dist
from torch import nn

if sys.argv[1] == "without":
    for name in ("register_pre_hook", "register_post_hook"):
        delattr(dist.ProcessGroup, name)

import laptime.torch

laptime.torch.attach()
if sys.argv[1] == "failing":

    def fail(*_: object) -> None:
        raise RuntimeError("as planned")

    laptime.torch.process_groups._describe = fail

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs in laptime.batches([torch.ones(2, 4)] * 3):
    optimizer.zero_grad()
    model(inputs).sum().backward()
    dist.all_reduce(model.weight.grad)
    dist.all_reduce(model.bias.grad, async_op=True).wait()
    optimizer.step()
print(model.weight.sum().item() < 1e9)
dist.destroy_process_group()
