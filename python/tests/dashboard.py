"""A folder of runs of every kind, and `laptime serve` in front of it.

    python python/tests/dashboard.py DIR list.png

makes a picture of the list of a folder's runs, for a person to look at.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import chromium

FIXTURES = Path(__file__).parents[2] / "fixtures" / "runs"
LAPTIME = [sys.executable, "-m", "laptime"]

HOSTILE = {
    "script": "<script>window.hacked = 1</script>",
    "image": "\"><img src=x onerror='window.hacked = 2'>",
    "terminal": "\x1b[31mred\x1b]0;title\x07",
    "right-to-left": "\u202egnissim\u202c שלום עולם",
    "markup": "</title></main>&lt;b&gt;'\"`{{7*7}}",
}
"""Names that mean something to a browser or a terminal."""

GROWING = """
import time
import laptime
for epoch in laptime.epochs(10_000):
    for _ in laptime.batches(range(5)):
        with laptime.stage("forward"):
            time.sleep(0.01)
"""


def record(folder: Path) -> None:
    """Copies the recorded runs, finished, failed and killed, some with hostile names, and makes a sweep."""
    for run in FIXTURES.iterdir():
        copy(run, folder)
    for number, name in enumerate(HOSTILE.values()):
        copy(FIXTURES / "pytorch", folder, name=name, id=f"20261117T00000{number}Z-0000000{number}")
    training = [*LAPTIME, "train", "linear", "--rows", "2000", "--batch", "{batch}"]
    sweep = ["sweep", "--dir", str(folder), "-p", "batch=32,128", "--repeats", "1", "--quiet"]
    subprocess.run([*LAPTIME, *sweep, "--", *training], check=True, capture_output=True)


def copy(run: Path, folder: Path, **changes: str) -> None:
    description = json.loads((run / "run.json").read_text()) | changes
    to = folder / description["id"]
    shutil.copytree(run, to)
    (to / "run.json").write_text(json.dumps(description))


@contextmanager
def growing(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run that is being recorded."""
    environment = os.environ | {"LAPTIME_DIR": str(folder), "LAPTIME_NAME": "growing"}
    script = subprocess.Popen(
        [sys.executable, "-c", GROWING], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        yield script
    finally:
        script.kill()
        script.wait()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A dashboard of a folder at a free port; gives its address with the token."""
    words = [*LAPTIME, "serve", "--dir", str(folder), "--port", "0"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        yield next(line.strip() for line in server.stdout if "http://" in line)
    finally:
        server.terminate()
        server.communicate(timeout=chromium.PATIENCE)


if __name__ == "__main__":
    with served(Path(sys.argv[1])) as address, chromium.Browser() as browser:
        page = browser.open(address)
        page.wait("!document.querySelector('.status.reading')")
        page.screenshot(Path(sys.argv[2]))
