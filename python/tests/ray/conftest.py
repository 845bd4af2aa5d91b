"""A Ray cluster of three nodes on this machine, for all tests here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

NODES = Path(__file__).parent / "nodes.py"


class Cluster:
    """Its process, which ends it when its input does."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        # Not beside this package, which has Ray's name.
        words = [sys.executable, "-P", str(NODES)]
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)
        self.address = self._answer()

    def add(self) -> int:
        """Adds a node, and gives the number of its raylet's process."""
        return int(self._ask("add"))

    def kill(self, raylet: int) -> None:
        """Kills a node that was added."""
        self._ask(f"kill {raylet}")

    def end(self) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=120)

    def _ask(self, words: str) -> str:
        self._process.stdin.write(words + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        line = self._process.stdout.readline()
        assert line, f"the cluster ended with {self._process.wait()}"
        return line.strip()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if subprocess.run([sys.executable, "-P", "-c", "import ray"], capture_output=True).returncode:
        pytest.skip("Ray is not installed")
    cluster = Cluster()
    yield cluster
    cluster.end()
