"""Once `laptime run` has ended, /dev/shm is as it was, however the script ended."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from . import watched
from .conftest import SCRIPTS

# With a /dev/shm of its own: what other processes of this machine do there is not the script's.
ALONE = ["unshare", "--user", "--map-root-user", "--mount"]
PROBE = """
import json, os, pathlib, subprocess, sys
subprocess.run(["mount", "-t", "tmpfs", "none", "/dev/shm"], check=True)
def listed():
    return sorted(str(path) for path in pathlib.Path("/dev/shm").rglob("*"))
before = listed()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
print(json.dumps({"before": before, "after": listed(), "code": done.returncode}))
sys.stderr.buffer.write(done.stderr)
"""
MOUNTS = subprocess.run(
    [*ALONE, "mount", "-t", "tmpfs", "none", "/dev/shm"], capture_output=True, check=False
)
needs_mounts = pytest.mark.skipif(
    MOUNTS.returncode != 0, reason="cannot have a /dev/shm of its own"
)


@needs_mounts
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize(("how", "code"), [("finish", 0), ("fail", 1), ("kill", -9)])
def test_nothing_is_left_in_shared_memory(tmp_path: Path, how: str, code: int, method: str) -> None:
    words = [*watched.LAPTIME, "run", "--", sys.executable, "ends.py", how, method]
    done = subprocess.run(
        [*ALONE, sys.executable, "-c", PROBE, *words],
        env=watched.environment(tmp_path),
        cwd=SCRIPTS,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["code"] == code, done.stderr
    assert found["after"] == found["before"] == []
    document, _ = watched.report(tmp_path)
    assert document["run"]["status"] == {0: "finished", 1: "failed", -9: "killed"}[code]
    assert document["epochs"][0]["steps"] == 100
