"""One rank of `planted.py`: fits of 40 steps, in each of which one rank that only chance knows is late.

`torchrun --nproc-per-node 4 planted_worker.py WAY PLACE TRIALS DELAY_MS SEED`
"""

from __future__ import annotations

import json
import random
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

WAY, PLACE = sys.argv[1:3]
TRIALS, DELAY_S, SEED = int(sys.argv[3]), float(sys.argv[4]) * 1e-3, int(sys.argv[5])
STEPS, BATCH, WIDTH = 40, 8, 64

# What the rank does in the place that is late now, seconds.
late = {"data": 0.0, "forward": 0.0, "backward": 0.0, "optimizer": 0.0}


class Rows(Dataset):
    def __len__(self) -> int:
        return STEPS * BATCH

    def __getitem__(self, at: int) -> torch.Tensor:
        if at % BATCH == 0:
            plan(at // BATCH)
            time.sleep(late["data"])
        return torch.ones(WIDTH)


class SlowBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.clone()

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> torch.Tensor:
        time.sleep(late["backward"])
        return gradient


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        time.sleep(0.005 + late["forward"])
        return self.second(SlowBackward.apply(torch.relu(self.first(rows))))


class Sgd(torch.optim.SGD):
    def step(self, closure=None):
        time.sleep(late["optimizer"])
        return super().step(closure)


def plan(step: int) -> None:
    """Who is late in a step, and where."""
    is_late = {"balanced": False, "rotating": step % dist.get_world_size() == dist.get_rank()}
    where = "forward" if PLACE == "rotating" else PLACE
    if PLACE in is_late:
        late["forward"] = DELAY_S if is_late[PLACE] else 0.0
    else:
        late[where] = DELAY_S if drawn == dist.get_rank() else 0.0


def average(model: nn.Module) -> None:
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def fit() -> None:
    torch.manual_seed(17)
    model: nn.Module = Net()
    if WAY == "ddp":
        model = DistributedDataParallel(model, bucket_cap_mb=0.01)
    elif WAY == "fsdp":
        fully_shard(model.first)
        fully_shard(model.second)
        fully_shard(model)
    optimizer = Sgd(model.parameters(), lr=0.01)
    for rows in DataLoader(Rows(), batch_size=BATCH):
        optimizer.zero_grad()
        model(rows).pow(2).mean().backward()
        if WAY == "hand":
            average(model)
        optimizer.step()


torch.set_num_threads(1)
dist.init_process_group("gloo")
chance = random.Random(SEED)
truth = []
for _ in range(TRIALS):
    drawn = chance.randrange(dist.get_world_size())
    truth.append(drawn)
    fit()
    dist.barrier()
if dist.get_rank() == 0:
    print(json.dumps(truth), flush=True)
dist.destroy_process_group()
time.sleep(0.3)
