"""Running a command bare and with laptime's hooks, and holding what it wrote byte for byte."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

# What differs between two runs of the same script, hooks or none: addresses, times and ids in log lines.
_ACCIDENTS = (
    (re.compile(r"0x[0-9a-f]{6,}"), "ADDRESS"),
    (re.compile(r"^([EWI])\d{4} [\d:. ]+", re.M), r"\1 "),
    (re.compile(r"^([EWI]0000) [\d:.]+ +\d+", re.M), r"\1"),
    (re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+", re.M), "TIME"),
    (re.compile(r"rank(\d)\]:\[?[EWI]\d+ .*"), r"rank\1"),
    # Python's tracker of shared memory now and then loses a race with the process that uses it.
    (re.compile(r"^.*resource_tracker.py:\d+: UserWarning: .*\n  warnings\.warn\(.*\n", re.M), ""),
)

_SUMMARY = re.compile(r"^laptime  ", re.M)


@dataclass(frozen=True)
class Ending:
    """How a script ended and what it wrote."""

    code: int
    stdout: str
    stderr: str

    @property
    def theirs(self) -> str:
        """What is on standard error before the summary, without what differs by accident."""
        text = _SUMMARY.split(self.stderr, maxsplit=1)[0]
        for accident, word in _ACCIDENTS:
            text = accident.sub(word, text)
        return text

    @property
    def summary(self) -> str:
        """The summary of `laptime run`, its lines joined; empty without one."""
        found = _SUMMARY.search(self.stderr)
        return " ".join(self.stderr[found.start() :].split()) if found else ""


def run(
    command: list[str], environment: dict[str, str], folder: Path, seconds: float = 300
) -> Ending:
    """Runs a command to its end."""
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, timeout=seconds, check=False
    )
    out, error = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
    return Ending(done.returncode, out, error)


def both(bare, hooked):  # noqa: ANN001, ANN201
    """Calls both at once: most of their time is an import."""
    with ThreadPoolExecutor() as pool:
        first = pool.submit(bare)
        return hooked(), first.result()


def check_same(bare: Ending, hooked: Ending) -> None:
    """The script ends and writes the same with the hooks as without, up to our own summary."""
    assert hooked.code == bare.code, hooked.stderr[-2000:]
    assert hooked.stdout == bare.stdout
    assert hooked.theirs == bare.theirs
