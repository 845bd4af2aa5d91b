"""Ranks of any launcher that average their gradients; it hangs in step 3 where a folder is given.

torchrun --nproc-per-node 2 launched.py [FOLDER]
"""

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def place(mine: str, of_mpi: str) -> int:
    return int(os.environ.get(mine) or os.environ[of_mpi])


def train(rank: int, ranks: int, folder: str | None = None) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(17)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    loader = DataLoader(TensorDataset(torch.randn(40, 8)), batch_size=4)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, (inputs,) in enumerate(loader):
        optimizer.zero_grad()
        loss = model(inputs).pow(2).mean()
        if folder is not None and step == 2:
            (Path(folder) / f"rank-{rank}").write_text(str(os.getpid()))
            if rank == 1:
                time.sleep(600)
        loss.backward()
        optimizer.step()
    print(rank, loss.item().hex(), flush=True)
    dist.barrier()
    dist.destroy_process_group()
    # Right after its last collective torch aborts in one exit of five, hooked or not (`terminate called without an
    # active exception`); 36 of 36 ended well after a pause.
    time.sleep(0.3)


if __name__ == "__main__":
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29517")
    if sys.argv[1:] == ["spawn"]:
        torch.multiprocessing.spawn(train, (2,), nprocs=2)
    else:
        train(
            place("RANK", "OMPI_COMM_WORLD_RANK"),
            place("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"),
            *sys.argv[1:],
        )
