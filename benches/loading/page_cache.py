"""The kernel's page cache: what of a file is in it, and emptying it of a file."""

from __future__ import annotations

import os
from pathlib import Path


def drop(path: Path) -> None:
    """Takes the files at `path` out of the page cache; what is dirty is written first."""
    for file in [path] if path.is_file() else path.rglob("*"):
        if file.is_file():
            _drop_file(file)


def _drop_file(file: Path) -> None:
    opened = os.open(file, os.O_RDONLY)
    try:
        os.fsync(opened)
        os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(opened)
