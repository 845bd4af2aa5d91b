"""What the tests of `laptime data` share: asking it, and what the kernel counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask() -> Ask:
    """Looks at data and gives the document."""

    def data(path: Path, *options: str) -> dict[str, Any]:
        words = [
            sys.executable,
            "-m",
            "laptime",
            "data",
            "--json",
            "--no-disk",
            *options,
            str(path),
        ]
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("LAPTIME_")
        }
        ended = subprocess.run(words, env=inherited, capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    return data


# Printed by a script before and after an epoch: what the kernel has counted for the process.
COUNTED = """
def counted():
    with open("/proc/self/io") as file:
        return {name: int(value) for name, value in (line.split(": ") for line in file)}
"""
