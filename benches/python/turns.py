"""Training processes that take turns, so that one way to measure can be held against another.

Two processes of one and the same script differ by some per cent for good, by where their memory happens to lie,
so all are started anew for each pair; within a pair they take turns, a block of steps each.
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from collections.abc import Callable

Command = Callable[[int], list[str]]
# Wall and CPU time of a step, us.
Times = tuple[float, float]


def take_turns(commands: dict[str, Command], turns: int) -> dict[str, Times]:
    """One pair: a new process for each name, told its port, and the least of its turns."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        # One that cannot start must not be waited for.
        server.settimeout(180)
        port = server.getsockname()[1]
        own = {"LAPTIME_DIR": folder, "LAPTIME_QUIET": "1", "OMP_NUM_THREADS": "1"}
        workers = [
            subprocess.Popen(
                command(port),
                env=os.environ | own,
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for command in commands.values()
        ]
        told = {}
        for _ in commands:
            stream = server.accept()[0].makefile("rw")
            told[stream.readline().strip()] = stream
        blocks: dict[str, list[Times]] = {name: [] for name in commands}
        for _ in range(turns):
            for name in commands:
                print("go", file=told[name], flush=True)
                wall, cpu = map(float, told[name].readline().split())
                blocks[name].append((wall, cpu))
        for stream in told.values():
            stream.close()
        for worker in workers:
            worker.wait()
    return {name: least(times) for name, times in blocks.items()}


def least(times: list[Times]) -> Times:
    """The least wall and the least CPU time."""
    walls, cpus = zip(*times, strict=True)
    return min(walls), min(cpus)
