"""Four ranks that exchange in every way: `torchrun --nproc-per-node 4 exchange.py`."""

import gc
import json
import os
import time
import weakref

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
losses: dict[str, list[str]] = {}


def train(name: str, model: nn.Module, after_backward=lambda: None) -> None:
    torch.manual_seed(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(torch.randn(8, 64)).pow(2).mean()
        loss.backward()
        after_backward()
        optimizer.step()
        losses.setdefault(name, []).append(loss.item().hex())


def network() -> nn.Module:
    torch.manual_seed(17)
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.BatchNorm1d(64))


def every_kind() -> None:
    """On a group of its own, so that a test knows each collective of it by its number."""
    group = dist.new_group(list(range(ranks)), group_desc="every kind")
    part, whole = torch.ones(100), torch.ones(400)
    parts = [torch.ones(100) for _ in range(ranks)]
    mine = parts if rank == 1 else None
    dist.all_reduce(part, group=group)
    dist.all_gather(parts, part, group=group)
    dist.all_gather_into_tensor(whole, part, group=group)
    dist.reduce_scatter_tensor(part, whole, group=group)
    dist.all_to_all_single(torch.ones(400), whole, group=group)
    dist.broadcast(part, 1, group=group)
    dist.reduce(part, 1, group=group)
    dist.gather(part, mine, 1, group=group)
    dist.scatter(part, mine, 1, group=group)
    dist.barrier(group=group)
    works = [dist.all_reduce(part, group=group, async_op=True) for _ in range(3)]
    for work in works:
        work.wait()
    dist.all_reduce(part, group=group, async_op=True)
    functional.all_reduce(part, "sum", group).add(1)
    with torch.no_grad():
        dist.all_reduce(nn.Parameter(torch.ones(10, dtype=torch.float64)), group=group)
    if rank in (0, 1):
        (dist.send if rank == 0 else dist.recv)(part, 1 - rank, group=group)
    other = rank ^ 1
    exchange = [
        dist.P2POp(dist.isend, part, other, group),
        dist.P2POp(dist.irecv, whole[:100], other, group),
    ]
    for work in dist.batch_isend_irecv(exchange):
        work.wait()
    # Late on one rank: the others wait for it.
    if rank == 3:
        time.sleep(0.2)
    dist.all_reduce(part, group=group)


def by_hand(model: nn.Module):
    def average() -> None:
        works = [dist.all_reduce(parameter.grad, async_op=True) for parameter in model.parameters()]
        for parameter, work in zip(model.parameters(), works):
            work.wait()
            parameter.grad /= ranks

    return average


def kept() -> int:
    """Tensors that are kept once they are exchanged and nobody has them."""
    known = []
    for _ in range(20):
        tensor = torch.ones(10)
        known.append(weakref.ref(tensor))
        dist.all_reduce(tensor, async_op=True).wait()
        dist.all_reduce(tensor)
    del tensor
    time.sleep(0.1)
    dist.barrier()
    gc.collect()
    return sum(one() is not None for one in known)


def compiled() -> list[int]:
    """Graphs and breaks of a function with collectives of both kinds."""
    from torch._dynamo.utils import counters

    @torch.compile(backend="eager", fullgraph=True)
    def exchange(tensor: torch.Tensor) -> torch.Tensor:
        tensor = tensor * 2
        dist.all_reduce(tensor)
        return functional.all_reduce(tensor, "sum", dist.group.WORLD) + 1

    for _ in range(3):
        losses["compiled"] = [exchange(torch.ones(4)).sum().item().hex()]
    return [counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())]


every_kind()
train("ddp", DistributedDataParallel(network(), bucket_cap_mb=0.02))
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
sharded = network()[:3]
fully_shard(sharded[0], mesh=mesh["shard"])
fully_shard(sharded, mesh=mesh["shard"])
train("fsdp", sharded)
model = network()
train("by hand", model, by_hand(model))
losses["kept"] = [str(kept())]
losses["graphs"] = [str(compiled())]
print(json.dumps(losses) if rank == 0 else "", end="", flush=True)
if path := os.environ.get("TRUTH_FILE"):
    names = {group.group_desc: group.group_name for group in dist.distributed_c10d._world.pg_map}
    if rank == 0:
        with open(path, "w") as file:
            json.dump(names, file)
dist.barrier()
dist.destroy_process_group()
# Right after its last collective torch aborts in one exit of five, hooked or not (`terminate called without an active
# exception`); 36 of 36 ended well after a pause.
time.sleep(0.3)
