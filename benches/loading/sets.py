"""The sets that are loaded, made once from fixed seeds: rows of numbers, the same rows as CSV, and JPEG files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROWS = 1_000_000
FEATURES = 10
IMAGES = 5_000
SIDE = 224
CLASSES = 10
QUALITY = 90

# Images as small as CIFAR's, for the training of a CNN.
SMALL_IMAGES = 20_000
SMALL_SIDE = 32


@dataclass(frozen=True)
class Sets:
    """The folder of the sets and the names in it. Each is made when it is asked for and not there yet."""

    folder: Path

    def rows(self) -> Path:
        """`float32` rows of ten features and the target, one after the other: `.npy`."""
        return made(self.folder / "rows.npy", _write_rows)

    def csv(self) -> Path:
        """The same rows with a header, in the shortest digits that give the same `float32` again."""
        source = self.rows()
        return made(self.folder / "rows.csv", lambda path: _write_csv(source, path))

    def jpegs(self) -> Path:
        """A folder of images with one folder for each class."""
        return made(self.folder / "jpegs", _write_jpegs)

    def small_images(self) -> Path:
        """`x` and `label` of small images in one `.npz` that is not compressed."""
        return made(self.folder / "small-images.npz", _write_small_images)

    def repeated_jpegs(self, times: int) -> Path:
        """The JPEG files under `times` names each: a set too large for memory at the cost of its names."""
        source = self.jpegs()
        return made(self.folder / f"jpegs-{times}", lambda path: _link(source, path, times))


def made(target: Path, make: Callable[[Path], object]) -> Path:
    """`target`, made beside its final name first, so that half of it is never taken for all of it."""
    if target.exists():
        return target
    partial = target.with_name(f"partial-{target.name}")
    remove(partial)
    target.parent.mkdir(parents=True, exist_ok=True)
    make(partial)
    partial.rename(target)
    return target


def remove(path: Path) -> None:
    """Removes a file or a folder, also one whose files are read-only."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def read_rows(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features and targets as arrays of their own, in memory."""
    rows = np.load(path)
    return np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, -1])


def image_files(folder: Path) -> tuple[list[str], list[int]]:
    """Paths and classes of the images, in the order of their names."""
    files = sorted(folder.glob("*/*.jpg"))
    return [str(file) for file in files], [
        int(file.parent.name.removeprefix("class-")) for file in files
    ]


def warm(path: Path) -> None:
    """Reads what is at `path`, so that it lies in the page cache."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    for file in files:
        with file.open("rb") as opened:
            while opened.read(1 << 22):
                pass


def _write_rows(path: Path) -> None:
    rows = np.random.default_rng(0).random((ROWS, FEATURES + 1), dtype=np.float32)
    with path.open("wb") as opened:
        np.save(opened, rows)


def _write_csv(source: Path, path: Path) -> None:
    import pyarrow
    import pyarrow.csv

    rows = np.load(source)
    names = [f"x{index}" for index in range(FEATURES)] + ["y"]
    columns = [pyarrow.array(np.ascontiguousarray(column)) for column in rows.T]
    pyarrow.csv.write_csv(pyarrow.table(columns, names=names), path)


def _write_jpegs(folder: Path) -> None:
    random = np.random.default_rng(0)
    for label in range(CLASSES):
        (folder / f"class-{label}").mkdir(parents=True)
    for index in range(IMAGES):
        picture = _picture(random)
        picture.save(
            folder / f"class-{index % CLASSES}" / f"{index:05}.jpg", quality=QUALITY, subsampling=2
        )


def _picture(random: np.random.Generator):
    """Smooth colours with noise on them: about as many bytes as a photograph of this size."""
    from PIL import Image

    coarse = random.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    smooth = np.asarray(
        Image.fromarray(coarse).resize((SIDE, SIDE), Image.Resampling.BICUBIC), np.int16
    )
    noise = random.integers(-NOISE, NOISE + 1, (SIDE, SIDE, 1), dtype=np.int16)
    return Image.fromarray(np.clip(smooth + noise, 0, 255).astype(np.uint8))


# Steps of the noise, of 255: at this many the files have about 15 KB.
NOISE = 8


def _write_small_images(path: Path) -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, CLASSES, SMALL_IMAGES)
    patterns = random.integers(0, 256, (CLASSES, 3, SMALL_SIDE, SMALL_SIDE))
    noise = random.integers(-96, 97, (SMALL_IMAGES, 3, SMALL_SIDE, SMALL_SIDE))
    pixels = np.clip(patterns[labels] + noise, 0, 255).astype(np.uint8)
    with path.open("wb") as opened:
        np.savez(opened, x=pixels, label=labels.astype(np.int64))


def _link(source: Path, folder: Path, times: int) -> None:
    for file in sorted(source.glob("*/*.jpg")):
        target = folder / file.parent.name
        target.mkdir(parents=True, exist_ok=True)
        for number in range(times):
            os.link(file, target / f"{file.stem}-{number:03}.jpg")
