"""Scripts under `laptime run`, with the processes they start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .conftest import SCRIPTS, _environment

LAPTIME = [sys.executable, "-m", "laptime"]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a script whose run goes into a folder."""
    return _environment() | {"LAPTIME_DIR": str(folder / "runs")} | more


def start(words: list[str], folder: Path, **more: str) -> subprocess.Popen[bytes]:
    """Starts a command in the folder of the scripts; what it says is kept for later."""
    return subprocess.Popen(
        words,
        env=environment(folder, **more),
        cwd=SCRIPTS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def run(words: list[str], folder: Path, **more: str) -> tuple[int, str, str]:
    """Runs a command to its end: exit code, standard output, standard error."""
    started = start(words, folder, **more)
    out, err = started.communicate(timeout=120)
    return started.returncode, out.decode(), err.decode()


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> int:
    """The pid that a script leaves in a file when it has come to a place."""
    while True:
        if path.exists() and (text := path.read_text()):
            return int(text)
        assert process.poll() is None, process.stderr and process.stderr.read().decode()
        time.sleep(0.01)


def descendants(pid: int) -> Iterator[int]:
    """Every process below one, children before their own."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            yield int(child)
            yield from descendants(int(child))


def kill(pids: list[int]) -> None:
    """Ends processes at once, whatever they do."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def report(folder: Path) -> tuple[dict[str, Any], str]:
    """The latest run as `laptime report` tells it: the document, and the text."""
    said = [
        subprocess.run(
            [*LAPTIME, "report", *options],
            env=environment(folder),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for options in (["--json"], [])
    ]
    return json.loads(said[0]), said[1]
