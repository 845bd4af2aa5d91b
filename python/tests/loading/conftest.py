"""Packs for the tests of loading, made by the program as a user would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROWS = 1000


def pack(*words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs `laptime pack` and checks how it ended."""
    command = [sys.executable, "-m", "laptime", "pack", *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == code, ended.stderr
    return ended


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of 1000 rows: x is [row, -row, 0.5], y the row."""
    folder = tmp_path_factory.mktemp("table")
    rows = np.arange(ROWS, dtype=np.float32)
    x = np.stack([rows, -rows, np.full_like(rows, 0.5)], axis=1)
    np.savez(folder / "table.npz", x=x, y=np.arange(ROWS, dtype=np.int64))
    pack(folder / "table.npz", "-o", folder / "table.pack")
    return folder / "table.pack"


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 24 JPEGs, red ones and blue ones, of several sizes."""
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path_factory.mktemp("photos")
    for number in range(24):
        label, colour = ("blue", (20, 40, 200)) if number % 2 else ("red", (200, 40, 20))
        (folder / label).mkdir(exist_ok=True)
        picture = image.new("RGB", (60 + number, 50), colour)
        picture.putpixel((0, 0), (255, 255, 255))
        picture.save(folder / label / f"{number:02}.jpg", quality=95)
    return folder
