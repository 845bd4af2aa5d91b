"""A limit on memory, by a control group of the kernel's first or second version."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

ROOT = Path("/sys/fs/cgroup")


class CannotLimitError(Exception):
    """Why no limit can be set here."""


@dataclass
class MemoryLimit:
    """A control group with a limit on memory, page cache included; removed at the end of a `with`."""

    limit: int  # bytes

    def __enter__(self) -> Self:
        self.second = (ROOT / "cgroup.controllers").exists()
        parent = ROOT if self.second else ROOT / "memory"
        self.folder = parent / f"laptime-bench-{os.getpid()}"
        try:
            self._create(parent)
        except OSError as error:
            raise CannotLimitError(f"{error.filename}: {error.strerror}; run as root") from error
        return self

    def __exit__(self, *_: object) -> None:
        self.folder.rmdir()

    def peak(self) -> int | None:
        """The most that was in use, page cache included, in bytes."""
        name = "memory.peak" if self.second else "memory.max_usage_in_bytes"
        path = self.folder / name
        return int(path.read_text()) if path.exists() else None

    def killed(self) -> int:
        """Processes that were ended because there was no memory left."""
        name = "memory.events" if self.second else "memory.oom_control"
        words = [line.split() for line in (self.folder / name).read_text().splitlines()]
        return sum(int(value) for key, value in words if key == "oom_kill")

    def _create(self, parent: Path) -> None:
        if self.second:
            (parent / "cgroup.subtree_control").write_text("+memory")
        self.folder.mkdir(exist_ok=True)
        name = "memory.max" if self.second else "memory.limit_in_bytes"
        (self.folder / name).write_text(str(self.limit))


def enter(folder: Path) -> None:
    """Moves this process, and so all that it starts from now on, into a control group."""
    (folder / "cgroup.procs").write_text(str(os.getpid()))
