"""The `laptime` command as the benches of this folder call it: record, advise, prove, compare."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A script of these benches runs for seconds; a whole proof of one for minutes.
LIMIT_S = 3600

Document = dict[str, Any]


class CommandError(Exception):
    """laptime, or the training under it, ended with an error: what it said last."""


def installed() -> str:
    """The command beside this Python, else the one on the path."""
    beside = Path(sys.executable).with_name("laptime")
    found = str(beside) if beside.exists() else shutil.which("laptime")
    if found is None:
        raise SystemExit("laptime is not installed: pip install laptime")
    return found


@dataclass
class Laptime:
    """The command, the folder its runs go to, and where and in what environment trainings run."""

    path: str
    runs: Path
    cwd: Path
    environment: dict[str, str]

    def run(self, name: str, training: list[str], changes: list[str] | None = None) -> str:
        """Records `training` as `name`, with what is injected into it, and returns the run's id."""
        injected = [word for change in changes or [] for word in ("--change", change)]
        self._call(["run", "--quiet", "--name", name, *injected, "--", *training])
        return self._document(["report", name])["run"]["id"]

    def advise(self, run: str) -> Document:
        """What laptime would change, as `laptime.advice/1`."""
        return self._document(["advise", run])

    def prove(
        self, run: str, number: int, training: list[str], options: list[str] | None = None
    ) -> Document:
        """Runs `training` with and without an item of the advice: `laptime.compare/1` with `proof`."""
        head = ["advise", run, "--prove", str(number), *(options or []), "--json"]
        return json.loads(self._call([*head, "--", *training]))

    def compare(self, before: list[str], after: list[str]) -> Document:
        """Whether the runs `after` are faster, as `laptime.compare/1`."""
        return self._document(["compare", ",".join(before), ",".join(after)])

    def _document(self, words: list[str]) -> Document:
        return json.loads(self._call([*words, "--json"]))

    def _call(self, words: list[str]) -> str:
        call = [self.path, *words]
        environment = {**os.environ, **self.environment, "LAPTIME_DIR": str(self.runs)}
        ended = subprocess.run(
            call, cwd=self.cwd, env=environment, capture_output=True, text=True, timeout=LIMIT_S
        )
        if ended.returncode != 0:
            raise CommandError(f"{shlex.join(words)}: {last_line(ended.stderr)}")
        return ended.stdout


def last_line(text: str) -> str:
    """The last line that is not empty."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def range_text(low: float, high: float) -> str:
    """A range of speed-ups: `1.62–1.90×`."""
    return f"{low:.2f}–{high:.2f}×"
