"""Rounds over loaders, in an order drawn anew for each round, every loader in a process of its own."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from entry import Entry

HERE = Path(__file__).parent

# A process has this long beside its window: importing, filling a shuffle buffer, starting workers.
START_S = 180
# Converting a set into a peer's format.
PREPARE_S = 1800


class FailedError(Exception):
    """A loader that could not be measured: what it said last."""


@dataclass(frozen=True)
class Conditions:
    """What every loader of a bench runs under."""

    data: Path
    threads: int
    seconds: float


@dataclass
class Measured:
    """What the rounds found, by entry and in the order of the rounds, and why some have nothing."""

    results: dict[str, list[dict]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def drop(self, key: str, why: str) -> None:
        """Leaves an entry out, with what it had: a loader that fails now and then has no rate."""
        self.results.pop(key, None)
        self.skipped[key] = why


def run_one(python: str, words: list[str], conditions: Conditions, limit_s: float) -> dict:
    """One process of `one_loader.py`: its JSON. All that it started ends with it."""
    numbers = ["--threads", str(conditions.threads), "--seconds", str(conditions.seconds)]
    command = [
        python,
        str(HERE / "one_loader.py"),
        *words[:2],
        str(conditions.data),
        *numbers,
        *words[2:],
    ]
    process = subprocess.Popen(
        command,
        cwd=HERE,
        env=_environment(conditions.threads),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired as error:
        raise FailedError(f"nothing after {limit_s:.0f} s") from error
    finally:
        _end(process)
    if process.returncode != 0:
        raise FailedError(_last_line(said) or f"ended with {process.returncode}")
    return json.loads(next(line for line in reversed(said.splitlines()) if line.startswith("{")))


def _environment(threads: int) -> dict[str, str]:
    count = str(threads)
    limits = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
    quiet = {
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    return {**os.environ, **dict.fromkeys(limits, count), **quiet}


def _end(process: subprocess.Popen) -> None:
    """Ends the process and its workers: the session that was made for them has its number."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def prepare(module: str, entries: dict[str, tuple[Entry, str]], conditions: Conditions) -> Measured:
    """Converts the sets for those that need it, before anything is timed."""
    measured = Measured()
    for key, (entry, python) in entries.items():
        if entry.prepare is None:
            continue
        try:
            run_one(python, [module, key, "--prepare"], conditions, PREPARE_S)
        except FailedError as error:
            measured.drop(key, f"its set could not be made: {error}")
    return measured


def order(keys: list[str], round_number: int) -> list[str]:
    """The order of a round: another one in each, and the same whenever the bench is repeated."""
    drawn = list(keys)
    random.Random(round_number).shuffle(drawn)
    return drawn
