"""Is a training on a GPU the same when it is recorded? `python benches/gpu/harmless.py`, on a machine that has one.

Runs a training bare and under `laptime run`: its losses must be the same to the last bit, a torch.profiler of the
script's own must see the same kernels, and nothing may wait for the device that did not before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CASES = Path(__file__).with_name("cases.py")
LAPTIME = (sys.executable, "-m", "laptime", "run", "--quiet", "--")


def last_line(launcher: tuple[str, ...], folder: str, *words: str) -> dict[str, Any]:
    env = os.environ | {"LAPTIME_DIR": folder, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    command = [*launcher, sys.executable, str(CASES), *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    print(f"{'':16} losses       kernels bare, recorded   waits bare, recorded")
    for case in ("gpu_bound", "item", "launch_bound"):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            both = [last_line(way, folder, case, "2")["losses"] for way in ((), LAPTIME)]
            trace = f"{folder}/trace.json"
            bare, recorded = (last_line(way, folder, case, "1", trace) for way in ((), LAPTIME))
        same = "same bits" if both[0] == both[1] else "DIFFERENT"
        print(
            f"{case:16} {same}    {bare['kernels']:8} {recorded['kernels']:8}"
            f"          {bare['waits']:8} {recorded['waits']:8}",
            flush=True,
        )


if __name__ == "__main__":
    main()
