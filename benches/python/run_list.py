"""The list of very many runs in a browser: `python benches/python/run_list.py [RUNS]`, 1,000 of them unless told.

The runs are copies of the recorded ones. A person types the address when `laptime serve` has printed it: measured is
the time until the browser paints the list for the first time, whether every run was in it by then, and how long until
all of them are read; then the same page once more, what the server takes of a core while a page is open, and its
memory. Bar: first paint within 1 s.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python" / "tests"))

import chromium  # noqa: E402
import dashboard  # noqa: E402

ROUNDS = 5
WATCHED_S = 5.0
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
ROWS = "document.querySelectorAll('.runs tbody tr').length"
UNREAD = "document.querySelectorAll('.status.reading').length"


def copy_runs(folder: Path, runs: int) -> None:
    """Runs with ids and names of their own."""
    recorded = sorted(dashboard.FIXTURES.iterdir())
    for number in range(runs):
        run = recorded[number % len(recorded)]
        description = json.loads((run / "run.json").read_text())
        id = f"20261117T{number // 3600:02}{number // 60 % 60:02}{number % 60:02}Z-{number:08x}"
        shutil.copytree(run, folder / id)
        description |= {"id": id, "name": f"{run.name}-{number}"}
        (folder / id / "run.json").write_text(json.dumps(description))


def cpu_s(process: int) -> float:
    """CPU time that a process has taken."""
    words = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(process: int) -> float:
    """The most memory that a process had."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def measure(folder: Path, runs: int) -> dict[str, float]:
    """One server and one browser, both new."""
    with chromium.Browser() as browser:
        browser.ask("Browser.getVersion")
        words = [*dashboard.LAPTIME, "serve", "--dir", str(folder), "--port", "0", "--json"]
        server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        served = json.JSONDecoder()
        text = ""
        while not text.endswith("}\n"):
            text += server.stdout.readline()
        page = browser.open(served.decode(text)["url"])
        began = time.monotonic()
        first_ms, rows, unread = page.wait(PAINT), page.evaluate(ROWS), page.evaluate(UNREAD)
        assert rows == runs, rows
        page.wait(f"{UNREAD} === 0")
        read_s = time.monotonic() - began + first_ms / 1000
        page.go(page.evaluate("location.href"))
        again_ms = page.wait(PAINT)
        before, since = cpu_s(server.pid), time.monotonic()
        time.sleep(WATCHED_S)
        share = (cpu_s(server.pid) - before) / (time.monotonic() - since)
        peak = peak_mib(server.pid)
        server.terminate()
        server.wait()
    return {
        "first paint, s": first_ms / 1000,
        "of them not read yet": unread,
        "all read, s": read_s,
        "painted again, s": again_ms / 1000,
        "CPU while open, %": 100 * share,
        "peak memory, MiB": peak,
    }


def main() -> None:
    """Prints a table: the median of some rounds, and the least and the most."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with tempfile.TemporaryDirectory() as folder:
        copy_runs(Path(folder), runs)
        rounds = [measure(Path(folder), runs) for _ in range(ROUNDS)]
    print(f"{runs:,} runs, {ROUNDS} rounds, {os.cpu_count()} CPUs\n")
    print(f"{'':24}{'median':>8}{'least':>8}{'most':>8}")
    for what in rounds[0]:
        values = [one[what] for one in rounds]
        shown = (statistics.median(values), min(values), max(values))
        print(f"{what:24}" + "".join(f"{value:8.2f}" for value in shown))
    met = statistics.median(one["first paint, s"] for one in rounds) <= 1.0
    print(f"\nbar: first paint within 1 s: {'met' if met else 'NOT met'}")


if __name__ == "__main__":
    main()
