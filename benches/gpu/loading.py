"""Does a Loader keep a GPU busy? `python benches/gpu/loading.py [IMAGES]`, on a machine that has one.

Makes a folder of JPEGs and packs of it, trains ResNet-18 from each under `laptime run`, and prints images a second, what
the device did by the report, and how fast torch.profiler saw batches being copied meanwhile.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

SCRIPT = Path(__file__).with_name("loading_resnet.py")
SIDE = 256
CLASSES = 8
# Copies of at least so many bytes are counted: the smaller ones are labels.
LARGE = 16 << 20
# Rows of the device's ledger in which it has nothing to compute.
IDLE = ("idle_data", "idle_host", "idle_sync", "copy", "unexplained")


def write_images(folder: Path, numbers: range) -> None:
    """JPEGs of smooth noise, which take about as long to decode as photographs do."""
    for number in numbers:
        random = np.random.default_rng(number)
        small = Image.fromarray(random.integers(0, 256, (32, 32, 3), dtype=np.uint8))
        kind = folder / f"class-{number % CLASSES}"
        small.resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(
            kind / f"{number:06}.jpg", quality=90
        )


def make_images(folder: Path, images: int) -> None:
    for kind in range(CLASSES):
        (folder / f"class-{kind}").mkdir(parents=True)
    ranges = [range(at, min(at + 256, images)) for at in range(0, images, 256)]
    with ProcessPoolExecutor() as pool:
        list(pool.map(write_images, [folder] * len(ranges), ranges))


def laptime(*args: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "laptime", *args],
        env=os.environ | variables,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"laptime {' '.join(args)}: {done.stderr[-3000:]}")
    return done.stdout


def copied(trace: Path) -> list[tuple[int, float]]:
    """Bytes and seconds of every large copy from pinned memory to the device."""
    events = json.loads(trace.read_text())["traceEvents"]
    copies = [one for one in events if one.get("name", "").startswith("Memcpy HtoD (Pinned")]
    sizes = [(one["args"]["bytes"], one["dur"] * 1e-6) for one in copies]
    return [(size, took) for size, took in sizes if size >= LARGE]


def busy(report: dict[str, Any]) -> float:
    """The share of the epochs after the first in which the device computed."""
    epochs = [one for one in report["epochs"] if one["kind"] == "epoch"][1:]
    wall = sum(epoch["wall_s"] for epoch in epochs)
    idle = sum((epoch["device_stages"] or {}).get(row, 0.0) for epoch in epochs for row in IDLE)
    return 1 - idle / wall


def row(name: str, kind: str, data: Path, folder: str) -> str:
    """A line of the table."""
    runs, trace = f"{folder}/{name}", Path(folder, f"{name}.json")
    command = ["run", "--quiet", "--", sys.executable, str(SCRIPT), kind, str(data), "4"]
    out = laptime(*command, LAPTIME_DIR=runs)
    rates = [
        json.loads(line)["images_per_s"] for line in out.splitlines() if "images_per_s" in line
    ]
    report = json.loads(laptime("report", "--json", LAPTIME_DIR=runs))
    subprocess.run([sys.executable, str(SCRIPT), kind, str(data), "1", str(trace)], check=True)
    copies = [size / took / 1e9 for size, took in copied(trace)]
    speed = (
        f"{statistics.median(copies):.1f} ({min(copies):.1f}–{max(copies):.1f})" if copies else "–"
    )
    limit = next((one["text"] for one in report["findings"]), "")
    return (
        f"| {name} | {statistics.median(rates[1:]):,.0f} | {busy(report) * 100:.1f} % | {speed} "
        f"| {len(copies)} | {limit[:60]} |"
    )


def main() -> None:
    images = int(sys.argv[1]) if len(sys.argv) > 1 else 16_384
    with tempfile.TemporaryDirectory() as folder:
        photos, jpeg, decoded = (
            Path(folder, name) for name in ("photos", "jpeg.pack", "decoded.pack")
        )
        make_images(photos, images)
        laptime("pack", str(photos), "-o", str(jpeg))
        laptime("pack", str(photos), "--decode", "--size", str(SIDE), "-o", str(decoded))
        print("| | images/s | device busy | copies of 16 MB and more, GB/s | copies | verdict |")
        print("|---|---|---|---|---|---|", flush=True)
        for name, kind, data in (
            ("DataLoader, 4 workers", "dataloader", photos),
            ("Loader, JPEG, float32", "float", jpeg),
            ("Loader, JPEG, bytes", "bytes", jpeg),
            ("Loader, decoded, float32", "float", decoded),
            ("Loader, decoded, bytes", "bytes", decoded),
        ):
            print(row(name, kind, data, folder), flush=True)


if __name__ == "__main__":
    main()
