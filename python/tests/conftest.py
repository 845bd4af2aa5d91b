"""Scripts are run in processes of their own: a process has one recorder, and its end is part of the test."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import laptime


@dataclass
class Outcome:
    """How a script ended and what it left."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def run(self) -> laptime.Run:
        """The only run the script left."""
        runs = [path for path in self.folder.iterdir() if path.is_dir() and not path.is_symlink()]
        assert len(runs) == 1, runs
        return laptime.load(dir=self.folder)

    def stage(self, name: str) -> dict:
        """A row of the run's ledger."""
        return next(row for row in self.run.ledger if row["stage"] == name)

    @property
    def logs(self) -> list[str]:
        """The logs of the run, each process one."""
        return sorted(path.name for path in Path(self.run.path).glob("*.000001.ltlog"))


Script = Callable[..., Outcome]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Runs a script with laptime and says how it ended."""

    def run(source: str, *, code: int | None = 0, **variables: str) -> Outcome:
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(source))
        folder = tmp_path / "runs"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("LAPTIME_")}
        environment = inherited | {"LAPTIME_DIR": str(folder)} | variables
        ended = subprocess.run(
            [sys.executable, str(path)],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        if code is not None:
            assert ended.returncode == code, ended.stderr
        return Outcome(ended.returncode, ended.stdout, ended.stderr, folder)

    return run


def closes(run: laptime.Run) -> bool:
    """Whether the ledger adds up to the wall time."""
    return abs(sum(row["seconds"] for row in run.ledger) - run.wall_s) <= 1e-3 * run.wall_s + 1e-6
