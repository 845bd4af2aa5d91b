"""What `laptime data` says an epoch reads, against what the kernel counted in real epochs.

The kernel counts twice: `rchar` is what read calls handed to the program, whether the page cache had it or not;
`read_bytes` is what storage delivered, in whole pages. The first is held against `epoch_bytes.files`, and where
the page cache can be emptied of the files, the second against `epoch_bytes.storage`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from .conftest import COUNTED, Ask


def within_two_per_cent(counted: float, predicted: float) -> bool:
    return abs(counted / predicted - 1) <= 0.02


def rchar_of(words: list[str], folder: Path) -> int:
    """What a command read in all, by the kernel's count when it has just ended."""
    script = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
with open(f"/proc/{child.pid}/io") as file:
    print(next(line for line in file if line.startswith("rchar")).split()[1])
sys.exit(child.wait())
"""
    ended = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, cwd=folder
    )
    assert ended.returncode == 0, ended.stderr
    return int(ended.stdout)


def test_an_epoch_of_laptime_train_reads_the_file_once(tmp_path: Path, ask: Ask) -> None:
    # Two bytes for every number, which take four decoded: more than is held in memory, so every epoch reads it.
    rows, columns = 180_000, 100
    digits = numpy.random.default_rng(1).integers(0, 10, (rows, columns), dtype="uint8") + ord("0")
    text = numpy.full((rows, 2 * columns), ord(","), "uint8")
    text[:, ::2] = digits
    text[:, -1] = ord("\n")
    path = tmp_path / "digits.csv"
    path.write_bytes(text.tobytes())
    predicted = ask(path)["epoch_bytes"]["files"]
    train = [
        sys.executable,
        "-m",
        "laptime",
        "train",
        "linear",
        "--data",
        str(path),
        "--batch",
        "8192",
        "--lr",
        "1e-9",
    ]
    one, three = (rchar_of([*train, "--epochs", epochs], tmp_path) for epochs in ("1", "3"))
    assert within_two_per_cent((three - one) / 2, predicted)


EPOCH = (
    COUNTED
    + """
import json, os, sys
from pathlib import Path
import torch
from PIL import Image
import numpy

class Images(torch.utils.data.Dataset):
    def __init__(self, root):
        self.paths = sorted(Path(root).rglob("*.jpg"))
    def __len__(self):
        return len(self.paths)
    def __getitem__(self, index):
        with Image.open(self.paths[index]) as image:
            return torch.from_numpy(numpy.asarray(image.convert("RGB")).copy()).permute(2, 0, 1).float()

loader = torch.utils.data.DataLoader(Images(sys.argv[1]), batch_size=16, shuffle=True)
next(iter(loader))
for path in loader.dataset.paths:
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
before = counted()
moved = sum(batch.nbytes for batch in loader)
after = counted()
print(json.dumps({"moved": moved} | {name: after[name] - before[name] for name in after}))
"""
)


def test_an_epoch_of_a_torch_loader_reads_and_moves_what_was_told(tmp_path: Path, ask: Ask) -> None:
    pytest.importorskip("torch")
    image = pytest.importorskip("PIL.Image")
    pixels = numpy.random.default_rng(0)
    for index in range(120):
        folder = tmp_path / "images" / f"class{index % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        made = image.fromarray(pixels.integers(0, 255, (160, 160, 3), dtype="uint8"))
        made.save(folder / f"{index}.jpg", quality=80)
    predicted = ask(tmp_path / "images")["epoch_bytes"]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("LAPTIME_")
    }
    words = [sys.executable, "-c", EPOCH, str(tmp_path / "images")]
    ended = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=100)
    assert ended.returncode == 0, ended.stderr
    counted = json.loads(ended.stdout)
    assert within_two_per_cent(counted["rchar"], predicted["files"]), (counted, predicted)
    assert counted["moved"] == predicted["host_to_device"]["mean"]
    # A file system in memory has no storage to read from.
    if counted["read_bytes"] > 0:
        assert within_two_per_cent(counted["read_bytes"], predicted["storage"]), (
            counted,
            predicted,
        )
