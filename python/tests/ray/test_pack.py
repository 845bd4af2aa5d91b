"""Packing on a cluster: the bytes that one machine alone writes, also when a node is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PATIENCE = 300

# Says which node it runs on while it does.
PREPARE = """
import os, time


def prepare(x):
    mark = f"on-{os.environ.get('RAY_RAYLET_PID', 'here')}-{os.getpid()}"
    open(mark, "w").close()
    time.sleep(float(os.environ.get("SECONDS", "0.5")))
    os.remove(mark)
    return x * 2
"""


def pack(folder: Path, *words: str, **variables: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "laptime", "pack", "--quiet", "x.npy", *words]
    environment = {**os.environ, **variables}
    return subprocess.Popen(command, cwd=folder, env=environment, text=True, stderr=subprocess.PIPE)


def made(process: subprocess.Popen[str]) -> None:
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err


def content(pack: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in pack.iterdir()}


def test_a_killed_node_loses_nothing_and_the_bytes_are_those_of_one_alone(
    cluster: Any, tmp_path: Path
) -> None:
    import numpy

    numpy.save(tmp_path / "x.npy", numpy.arange(10 << 20, dtype="float32").reshape(-1, 64))
    (tmp_path / "prep.py").write_text(PREPARE)
    words = ["--map", "prep.py:prepare", "-o"]
    made(pack(tmp_path, *words, "alone.pack", SECONDS="0"))
    victim = cluster.add()
    process = pack(tmp_path, "--on", f"ray={cluster.address}", *words, "spread.pack")
    deadline = time.monotonic() + PATIENCE
    while not list(tmp_path.glob(f"on-{victim}-*")):
        assert time.monotonic() < deadline and process.poll() is None, "the node reads nothing"
        time.sleep(0.02)
    cluster.kill(victim)
    made(process)
    assert content(tmp_path / "alone.pack") == content(tmp_path / "spread.pack")


def test_what_fails_on_a_node_is_said_as_if_it_had_failed_here(
    cluster: Any, tmp_path: Path
) -> None:
    import numpy

    numpy.save(tmp_path / "x.npy", numpy.zeros((1 << 19, 2), dtype="float32"))
    (tmp_path / "prep.py").write_text(
        "calls = 0\ndef prepare(x):\n    global calls\n    calls += 1\n"
        "    if calls > 1:\n        raise ValueError('no more')\n    return x\n"
    )
    words = ["--on", f"ray={cluster.address}", "--map", "prep.py:prepare"]
    process = pack(tmp_path, *words)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and "ValueError: no more" in err and "in prepare" in err
