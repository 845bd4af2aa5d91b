"""Whether the bytes that `laptime predict` expects from storage are those that the kernel counts.

    python benches/forecast/transfer.py FOLDER [--epochs N]

FOLDER is on the disk that is to be read. Files are made there, each training is predicted from a probe and then run to
its end; the truth is what the process itself reads in /proc/self/io as its last act, and what `laptime run` recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from validate import ENVIRONMENT, HERE

FILES = 2_048
NUMBERS = 16_384  # 64 KiB a file
LAPTIME = str(Path(sys.executable).with_name("laptime"))


def forget(folder: Path) -> None:
    """Makes the kernel forget the files, so that the next to read them reads from storage."""
    os.sync()
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder, prefix="laptime-transfer-") as name:
        files = Path(name) / "files"
        files.mkdir()
        for at in range(FILES):
            np.random.default_rng(at).random(NUMBERS, np.float32).tofile(files / f"{at}.bin")
        print("training      predicted        kernel   off   recorded   off")
        for option in ([], ["--cached"]):
            compare(files, [*option, "--epochs", str(args.epochs)], Path(name))


def compare(files: Path, options: list[str], folder: Path) -> None:
    script = [sys.executable, str(HERE / "trainings" / "streamed.py"), str(files), *options]
    # What was imported before comes from memory in both.
    subprocess.run(
        [*script, "--epochs", "1"], env=environment(folder), check=True, capture_output=True
    )
    forget(files)
    said = call(["predict", "--quiet", "--json", "--seconds", "15", "--", *script], folder)
    predicted = json.loads(said)["transfer"]["storage_bytes"]
    forget(files)
    kernel = int(call(["run", "--quiet", "--", *script], folder).split()[-1])
    recorded = json.loads(call(["report", "--json"], folder))["transfer"]["storage_read_bytes"]
    off = [f"{predicted / truth - 1:+6.1%}" for truth in (kernel, recorded)]
    name = "cached" if "--cached" in options else "from storage"
    print(f"{name:12}  {predicted:10,}  {kernel:12,} {off[0]}  {recorded:10,} {off[1]}")


def call(words: list[str], folder: Path) -> str:
    done = subprocess.run(
        [LAPTIME, *words], env=environment(folder), cwd=folder, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"laptime {' '.join(words)}: {done.stderr}")
    return done.stdout


def environment(folder: Path) -> dict[str, str]:
    own = {"LAPTIME_DIR": str(folder / "runs"), "LAPTIME_DATA_DIR": str(folder / "data")}
    return {**os.environ, **ENVIRONMENT, **own}


if __name__ == "__main__":
    main()
