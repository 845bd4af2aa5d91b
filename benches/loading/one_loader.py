"""Measures one loader in a process of its own: prints one JSON object, or what went wrong.

python one_loader.py GROUP KEY DATA --threads N --seconds S [--prepare] [--cgroup DIR]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from itertools import islice
from pathlib import Path

from cgroup import enter
from entry import Entry, Setting
from memory_use import peak_mb, read_mb
from sets import Sets

# What a loader has read ahead while nobody took anything is gone after this share of the window.
WARM_UP = 0.25


def main() -> None:
    arguments = _arguments()
    if arguments.cgroup:
        enter(arguments.cgroup)
    module = importlib.import_module(arguments.group)
    entry = module.ENTRIES.known[arguments.key]
    setting = Setting(Sets(arguments.data), arguments.threads, arguments.seconds)
    if arguments.prepare:
        found = _prepared(entry, setting)
    elif entry.rate:
        found = {"rate": entry.rate(setting), "peak_mb": peak_mb()}
    elif entry.task:
        found = _done_once(entry, setting)
    else:
        found = _flowing(entry, setting, module.check)
    # Apart from what libraries print.
    print(f"\n{json.dumps(found)}", flush=True)
    # Threads and workers of peers are ended by whoever started this process: some never end by themselves.
    os._exit(0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group")
    parser.add_argument("key")
    parser.add_argument("data", type=Path)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--cgroup", type=Path)
    return parser.parse_args()


def _prepared(entry: Entry, setting: Setting) -> dict:
    start = time.perf_counter()
    if entry.prepare:
        entry.prepare(setting)
    return {"seconds": time.perf_counter() - start}


def _done_once(entry: Entry, setting: Setting) -> dict:
    task = entry.task(setting)
    start = time.perf_counter()
    result = task.work()
    seconds = time.perf_counter() - start
    # Before the check, which needs memory of its own.
    peak = peak_mb()
    return {"rate": task.amount / seconds, "peak_mb": peak, "note": task.check(result)}


def _flowing(entry: Entry, setting: Setting, check) -> dict:
    start = time.perf_counter()
    batches = entry.batches(setting)
    first = next(batches)
    first_s = time.perf_counter() - start
    wrong = check(first)
    if wrong:
        raise SystemExit(f"not measured, because {wrong}")
    del first
    _taken(batches, WARM_UP * setting.seconds)
    read_before = read_mb()
    samples, count, seconds = _taken(batches, setting.seconds)
    found = {"rate": samples / seconds, "batch_us": 1e6 * seconds / count, "first_s": first_s}
    found |= {"peak_mb": peak_mb(), "read_mb_s": (read_mb() - read_before) / seconds}
    batches.close()
    return found


def _taken(batches, seconds: float) -> tuple[int, int, float]:
    """Samples, batches and seconds of a loop that takes batches, and asks one in eight for its length."""
    samples = count = 0
    start = now = time.perf_counter()
    while now - start < seconds:
        # Neither the clock nor a length is asked for at every batch: that would be seen where one takes microseconds.
        taken, last = 0, ()
        for batch in islice(batches, 8 if count > 64 else 1):
            taken, last = taken + 1, batch
        samples += taken * len(last[0])
        count += taken
        now = time.perf_counter()
    return samples, count, now - start


if __name__ == "__main__":
    main()
