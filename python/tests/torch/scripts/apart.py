"""A training that knows nothing of ranks, marked by hand; rank 1 is told by its launcher to be slow."""

import os
import time

import laptime

launchers = ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "RANK")
rank = next(os.environ[name] for name in launchers if name in os.environ)
for epoch in laptime.epochs(2):
    for batch in laptime.batches(range(10), samples=lambda batch: 4):
        with laptime.stage("forward"):
            time.sleep(0.010 if rank == "1" else 0.001)
