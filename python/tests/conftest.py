"""Scripts are run in processes of their own: a process has one recorder, and its end is part of the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# What the tests themselves record, such as a decorated function that they call, is nobody's run.
NOBODYS = tempfile.TemporaryDirectory(prefix="laptime-tests-")
os.environ |= {"LAPTIME_DIR": NOBODYS.name, "LAPTIME_QUIET": "1"}
# Nor do forecasts of tests belong into the record of this machine.
os.environ["LAPTIME_DATA_DIR"] = NOBODYS.name

# Whoever runs the tests in the background of a script ignores Ctrl-C, and so would the scripts under test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import laptime
import pytest

# How long a script really slept, told by its own clock: a busy machine oversleeps.
#
# Between the script's reading of the clock and the recorder's the machine may take the CPU away, which only
# one of them sees. The kernel counts the time a thread was ready and waited for a CPU; what of it fell
# outside the sleeps is the most by which the two can differ for that reason.
TRUTH = """
import asyncio, atexit, json, os, time

slept = {}
_hidden = 0.0

def waited():
    try:
        with open("/proc/thread-self/schedstat") as file:
            return int(file.read().split()[1]) * 1e-9
    except OSError:
        return 0.0

class asleep:
    def __init__(self, *names):
        self.names = names
    def __enter__(self):
        self.began = time.perf_counter()
    def __exit__(self, *error):
        took = time.perf_counter() - self.began
        for name in self.names:
            calls, seconds = slept.get(name, (0, 0.0))
            slept[name] = (calls + 1, seconds + took)

def rest(seconds, *names):
    global _hidden
    before = waited()
    with asleep(*names):
        time.sleep(seconds)
    _hidden += waited() - before

async def rest_async(seconds, *names):
    # Other tasks run meanwhile, so what was waited is not this sleep's.
    with asleep(*names):
        await asyncio.sleep(seconds)

def tell():
    lost = waited() - _began - _hidden
    with open(os.environ["TRUTH_FILE"], "w") as file:
        json.dump({"slept": slept, "lost": max(lost, 0.0)}, file)

_began = waited()
if "TRUTH_FILE" in os.environ:
    atexit.register(tell)
"""


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

    def holds(self, seconds: float, *names: str, calls: int = 0) -> bool:
        """Whether a time is what the script slept under these names, within 3 % and 2 ms a call.

        `calls` is how often the time was begun and ended, where that is not once a sleep.
        """
        truth = json.loads((self.folder.parent / "truth.json").read_text())
        sleeps = [truth["slept"][name] for name in names]
        slept = sum(took for _, took in sleeps)
        calls = calls or sum(count for count, _ in sleeps)
        # The two clocks themselves differ by less than a thousandth.
        return slept * 0.999 <= seconds <= slept * 1.03 + 0.002 * calls + truth["lost"]

    @property
    def logs(self) -> list[str]:
        """The logs of the run, each process one."""
        return sorted(path.name for path in Path(self.run.path).glob("*.000001.ltlog"))


Script = Callable[..., Outcome]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Runs a script with laptime and says how it ended."""

    def run(
        source: str, *, code: int | None = 0, patience: float = 60, **variables: str
    ) -> Outcome:
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(source))
        (tmp_path / "truth.py").write_text(TRUTH)
        folder = tmp_path / "runs"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("LAPTIME_")}
        files = {"LAPTIME_DIR": str(folder), "TRUTH_FILE": str(tmp_path / "truth.json")}
        environment = inherited | files | variables
        ended = subprocess.run(
            [sys.executable, str(path)],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=patience,
        )
        if code is not None:
            assert ended.returncode == code, ended.stderr
        return Outcome(ended.returncode, ended.stdout, ended.stderr, folder)

    return run


def closes(run: laptime.Run) -> bool:
    """Whether the ledger adds up to the wall time."""
    return abs(sum(row["seconds"] for row in run.ledger) - run.wall_s) <= 1e-3 * run.wall_s + 1e-6
