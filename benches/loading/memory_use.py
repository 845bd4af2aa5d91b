"""Memory and reads of this process and of all that it started, as the kernel counts them."""

from __future__ import annotations

import os
from pathlib import Path


def peak_mb() -> float:
    """The highest resident memory of each process of this tree, added up. Pages that processes share count in each."""
    return sum(_status(process, "VmHWM") for process in tree()) / 1024


def read_mb() -> float:
    """Megabytes that the processes of this tree have had read from storage."""
    return sum(_io(process, "read_bytes") for process in tree()) / 1e6


def tree() -> list[int]:
    """This process and all below it."""
    parents = {
        int(entry.name): _parent(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()
    }
    found = [os.getpid()]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def _parent(process: Path) -> int:
    try:
        # The name in parentheses may have spaces and parentheses in it.
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _status(process: int, name: str) -> int:
    return _field(Path(f"/proc/{process}/status"), name)


def _io(process: int, name: str) -> int:
    return _field(Path(f"/proc/{process}/io"), name)


def _field(path: Path, name: str) -> int:
    """A number of a file of `/proc`; 0 for a process that has just ended."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    values = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
    return int(values[0]) if values else 0
