"""A worker of `collectives.py`: one rank of one, so that no other rank's time is in a collective.

Its words: the port of the bench, its name, what it does and how many collectives a turn has.
"""

import socket
import sys
import time

import torch
import torch.distributed as dist

port, name, form, count = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
torch.set_num_threads(1)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
tensor = torch.ones(16)


def blocking() -> None:
    for _ in range(count):
        dist.all_reduce(tensor)


def waited() -> None:
    for _ in range(count):
        dist.all_reduce(tensor, async_op=True).wait()


def buckets() -> None:
    """Eight under way at once, as in a backward pass."""
    for _ in range(count // 8):
        works = [dist.all_reduce(tensor, async_op=True) for _ in range(8)]
        for work in works:
            work.wait()


turn = {"blocking": blocking, "async": waited, "8 at once": buckets}[form]
turn()
with socket.create_connection(("127.0.0.1", port)) as server, server.makefile("rw") as bench:
    print(name, file=bench, flush=True)
    for _ in bench:
        wall, cpu = time.perf_counter(), time.process_time()
        turn()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(wall / count * 1e6, cpu / count * 1e6, file=bench, flush=True)
dist.destroy_process_group()
time.sleep(0.3)
