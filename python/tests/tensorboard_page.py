"""The real TensorBoard server, and its page in a headless Chromium.

    python python/tests/tensorboard_page.py DIR page.png

makes a picture of what TensorBoard shows of a folder, for a person to look at.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SERVER = """
import sys, types
# TensorFlow is not needed for scalars and takes seconds to import: TensorBoard then uses its own reader.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")
from tensorboard.main import run_main
sys.exit(run_main())
"""
PATIENCE = 60.0
"""Seconds to wait for a server that starts while the machine is busy."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A TensorBoard server of a folder, on this machine alone; gives its address."""
    words = [
        "--logdir",
        str(folder),
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--reload_interval",
        "1",
    ]
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield _address(server)
    finally:
        server.terminate()
        server.communicate(timeout=PATIENCE)


def _address(server: subprocess.Popen[str]) -> str:
    said = []
    for line in server.stderr:
        said.append(line)
        if found := re.search(r"(http://127\.0\.0\.1:\d+/?)", line):
            return found[1].rstrip("/")
    raise AssertionError("".join(said))


def tags(address: str, runs: int) -> dict[str, Any]:
    """Every run and its tags, as the page asks for them, once so many runs are read."""
    until = time.monotonic() + PATIENCE
    while True:
        found = _answer(f"{address}/data/plugin/scalars/tags")
        if len(found) >= runs or time.monotonic() > until:
            return found
        time.sleep(0.2)


def steps(address: str, run: str, tag: str) -> list[int]:
    """The steps of a tag that the page draws."""
    asked = urllib.parse.urlencode({"run": run, "tag": tag})
    return [step for _, step, _ in _answer(f"{address}/data/plugin/scalars/scalars?{asked}")]


def _answer(address: str) -> Any:
    with urllib.request.urlopen(address) as answer:
        return json.load(answer)


def page(address: str, tag_filter: str = "") -> str:
    """What a browser makes of the page; of many tags it shows twelve, unless they are filtered."""
    return _browse(f"{address}/?tagFilter={tag_filter}#timeseries", "--dump-dom").stdout


def screenshot(address: str, picture: Path) -> None:
    """A picture of the page."""
    _browse(f"{address}/#timeseries", f"--screenshot={picture}")


def _browse(address: str, *words: str) -> subprocess.CompletedProcess[str]:
    plain = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run".split()
    plain += "--disable-background-networking --disable-component-update --disable-sync".split()
    with tempfile.TemporaryDirectory() as profile:
        command = [CHROMIUM, *plain, f"--user-data-dir={profile}", "--virtual-time-budget=20000"]
        # What lies below the window is not drawn.
        command.append("--window-size=1600,2600")
        return subprocess.run(
            [*command, *words, address], capture_output=True, text=True, timeout=2 * PATIENCE
        )


if __name__ == "__main__":
    with served(Path(sys.argv[1])) as address:
        tags(address, 1)
        screenshot(address, Path(sys.argv[2]).absolute())
