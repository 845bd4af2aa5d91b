"""What `laptime report --live` takes of a CPU while it follows a training that records 12 spans a step."""

from __future__ import annotations

import os
import pty
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BAR = 0.01
SECONDS = 20
ROUNDS = 3
TRAINING = """
import time, laptime
stages = [laptime.stage("part_%d" % n) for n in range(11)]
for epoch in laptime.epochs(10**6):
    for batch in laptime.batches(range(200)):
        for stage in stages:
            with stage:
                pass
        time.sleep({pause})
"""
LAPTIME = [sys.executable, "-m", "laptime"]


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def followed(folder: str) -> float:
    """The share of a CPU that the page takes once it has read what was there."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "xterm-256color", "LAPTIME_DIR": folder}
        os.execv(LAPTIME[0], [*LAPTIME, "report", "--live"])
    deadline, began, before = time.monotonic() + 5 + SECONDS, None, 0.0
    try:
        while time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.1)[0]:
                os.read(terminal, 65536)
            if began is None and time.monotonic() > deadline - SECONDS:
                began, before = time.monotonic(), cpu_seconds(pid)
        return (cpu_seconds(pid) - before) / (time.monotonic() - began)
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


def main() -> None:
    print(f"{SECONDS} s each, {ROUNDS} rounds: share of one CPU   (bar: {BAR:.0%})")
    for pause, name in [(0.05, "20 steps/s"), (0.001, "about 900 steps/s")]:
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"LAPTIME_DIR": folder, "LAPTIME_QUIET": "1"}
            training = subprocess.Popen(
                [*LAPTIME, "run", "--", sys.executable, "-c", TRAINING.format(pause=pause)],
                env=environment,
            )
            try:
                time.sleep(3)
                shares = [followed(folder) for _ in range(ROUNDS)]
            finally:
                training.terminate()
                training.wait()
        print(
            f"  {name:<18} {statistics.median(shares):.2%}  ({min(shares):.2%}-{max(shares):.2%})"
        )


if __name__ == "__main__":
    main()
