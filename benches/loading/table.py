"""Prints what loading costs: laptime.Loader and its peers, one table for each group.

python benches/loading/table.py [--rounds N] [--only GROUP] [--loaders KEY ...] [--seconds S] [--threads N] [--data DIR]
"""

from __future__ import annotations

import argparse
import os
import platform
from pathlib import Path

import groups
from rounds import Conditions

DATA = Path.home() / ".cache/laptime/bench-loading-data"


def main() -> None:
    arguments = _arguments()
    arguments.data.mkdir(parents=True, exist_ok=True)
    conditions = Conditions(arguments.data.resolve(), arguments.threads, arguments.seconds)
    _print_machine(conditions, arguments.rounds)
    groups.choose(arguments.loaders)
    for name in [arguments.only] if arguments.only else groups.GROUPS:
        groups.GROUPS[name](conditions, arguments.rounds)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="how often each loader is measured [5]"
    )
    parser.add_argument("--only", choices=list(groups.GROUPS), help="one group [all]")
    parser.add_argument(
        "--loaders",
        nargs="+",
        metavar="KEY",
        help="these loaders only, as their functions are called",
    )
    parser.add_argument(
        "--seconds", type=float, default=5, help="how long each is measured in a round [5]"
    )
    parser.add_argument("--threads", type=int, default=2, help="threads or workers of each [2]")
    parser.add_argument("--data", type=Path, default=DATA, help=f"where the sets are made [{DATA}]")
    return parser.parse_args()


def _print_machine(conditions: Conditions, rounds: int) -> None:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next(
        (line.split(": ", 1)[1] for line in lines if line.startswith("model name")),
        platform.machine(),
    )
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    print(f"{model}, {os.cpu_count()} CPUs, {memory:.0f} GiB, Linux {platform.release()}")
    load = os.getloadavg()[0]
    warning = "" if load < 0.5 else ": the machine is not idle, and these numbers are worth less"
    print(f"load average {load:.2f} at the start{warning}")
    print(
        f"{rounds} rounds in drawn order, {conditions.seconds:g} s each, {conditions.threads} threads or workers"
    )


if __name__ == "__main__":
    main()
