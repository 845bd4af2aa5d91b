"""Ranks of any launcher that average their gradients.

    torchrun --nproc-per-node 2 launched.py [spawn | fail | FOLDER]

The script starts its ranks itself; or rank 1 fails in step 3, unless it was started again; or it hangs there.
"""

import os
import sys
import tempfile
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


def meeting(folder: str | None) -> str | None:
    """Where ranks find each other. Those that torchrun starts again may read the addresses of the ranks before them,
    bare as well as hooked, unless each start has a place of its own."""
    if folder != "fail":
        return None
    start = f"{os.environ['TORCHELASTIC_RUN_ID']}-{os.environ['TORCHELASTIC_RESTART_COUNT']}"
    return f"file://{tempfile.gettempdir()}/ranks-{start}"


def train(rank: int, ranks: int, folder: str | None = None) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(17)
    dist.init_process_group("gloo", meeting(folder), rank=rank, world_size=ranks)
    loader = DataLoader(TensorDataset(torch.randn(40, 8)), batch_size=4)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, (inputs,) in enumerate(loader):
        optimizer.zero_grad()
        loss = model(inputs).pow(2).mean()
        if folder == "fail" and step == 2 and rank == 1:
            assert os.environ["TORCHELASTIC_RESTART_COUNT"] != "0", "as planned"
        elif folder is not None and folder != "fail" and step == 2:
            (Path(folder) / f"rank-{rank}").write_text(str(os.getpid()))
            if rank == 1:
                time.sleep(600)
        loss.backward()
        optimizer.step()
    print(rank, loss.item().hex(), flush=True)
    dist.barrier()
    # Right after its last collective torch aborts in one exit of five, hooked or not (`terminate called without an
    # active exception`); 36 of 36 ended well after a pause. And a rank that leaves its group at once may close
    # connections that another still reads the barrier's end from.
    time.sleep(0.5)
    dist.destroy_process_group()


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
