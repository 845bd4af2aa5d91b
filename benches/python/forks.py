"""Forks under load: how many children of a recording process hang.

Three threads record and name new stages all the time, busy loops keep the CPUs taken, and the main thread
forks. Every tenth child records and finishes, the others leave at once; a child that has not ended after
half a minute hangs.

    python benches/python/forks.py [10000] [--busy 2]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE_S = 30.0
RECORDS_EVERY = 10


def main() -> int:
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LAPTIME_DIR"] = folder
        busy = [start_busy_loop() for _ in range(arguments.busy)]
        began = time.perf_counter()
        try:
            hangs, failures = fork_many(arguments.forks)
        finally:
            for loop in busy:
                loop.kill()
                loop.wait()
        took = time.perf_counter() - began
    print(
        f"{arguments.forks:,} forks beside 3 recording threads and {arguments.busy} busy loops: "
        f"{hangs} hangs, {failures} failures, {took:.0f} s"
    )
    return 1 if hangs or failures else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("forks", type=int, nargs="?", default=10_000)
    parser.add_argument("--busy", type=int, default=2, help="busy loops beside")
    return parser.parse_args()


def start_busy_loop() -> subprocess.Popen[bytes]:
    # It ends with this process, however that ends.
    code = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): pass"
    return subprocess.Popen([sys.executable, "-c", code, str(os.getpid())])


def fork_many(forks: int) -> tuple[int, int]:
    import laptime

    laptime.init(quiet=True)
    stage, stop = laptime.stage("load"), threading.Event()

    def load(number: int) -> None:
        while not stop.is_set():
            with stage:
                laptime.stage(f"new name {number}")

    threads = [threading.Thread(target=load, args=(number,), daemon=True) for number in range(3)]
    for thread in threads:
        thread.start()
    hangs = failures = 0
    for turn in range(forks):
        child = os.fork()
        if child == 0:
            in_child(stage, records=turn % RECORDS_EVERY == 0)
        status = wait(child)
        hangs += status is None
        failures += status not in (None, 0)
    stop.set()
    for thread in threads:
        thread.join()
    laptime.finish()
    return hangs, failures


def in_child(stage: object, records: bool) -> None:
    import laptime

    try:
        if records:
            with stage:  # type: ignore[attr-defined]
                pass
            laptime.finish()
    except BaseException:
        os._exit(1)
    os._exit(0)


def wait(child: int) -> int | None:
    """How a child ended; one that hangs is killed, and `None`."""
    until = time.monotonic() + PATIENCE_S
    pause = 0.0001
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(pause)
        pause = min(pause * 2, 0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


if __name__ == "__main__":
    sys.exit(main())
