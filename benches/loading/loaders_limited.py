"""Images that do not fit into the memory there is: one function for each loader, run with a limit and without."""

from __future__ import annotations

from pathlib import Path

import crops
import formats
import numpy as np
from entry import Entries, Setting
from loaders_jpeg import BATCH, check, one_thread
from sets import SIDE

__all__ = ["ENTRIES", "check"]

# How often each image is in the set: about 3 GB decoded, and about 3 GB as JPEG.
DECODED_TIMES = 4
JPEG_TIMES = 40

ENTRIES = Entries()


def decoded_pack(setting: Setting) -> Path:
    folder = setting.sets.repeated_jpegs(DECODED_TIMES)
    return formats.packed(setting.sets, folder, "--decode", "--size", str(SIDE))


def jpeg_pack(setting: Setting) -> Path:
    return formats.packed(setting.sets, setting.sets.repeated_jpegs(JPEG_TIMES))


def pixels(setting: Setting) -> Path:
    return formats.decoded_images(setting.sets, DECODED_TIMES)


# What each entry reads, for the size of its set and for emptying the page cache of it.
SOURCES = {"laptime_decoded": decoded_pack, "laptime_jpeg": jpeg_pack, "torch_memmap": pixels}


@ENTRIES.loader(
    "laptime.Loader, decoded pack, window shuffle", "laptime.loader", "torch", prepare=decoded_pack
)
def laptime_decoded(setting: Setting):
    yield from _laptime(setting, decoded_pack(setting))


@ENTRIES.loader(
    "laptime.Loader, JPEG pack, window shuffle", "laptime.loader", "torch", prepare=jpeg_pack
)
def laptime_jpeg(setting: Setting):
    yield from _laptime(setting, jpeg_pack(setting))


def _laptime(setting: Setting, pack: Path):
    from laptime import Loader
    from laptime.image import random_crop_flip

    loader = Loader(
        pack,
        batch_size=BATCH,
        shuffle="window",
        seed=0,
        threads=setting.threads,
        transform=random_crop_flip(SIDE),
        normalize=(crops.MEAN, crops.STD),
        drop_last=True,
    )
    while True:
        yield from loader


class Pixels:
    """A map-style dataset of decoded images in a mapped file."""

    def __init__(self, path: Path) -> None:
        self.pixels = np.load(path, mmap_mode="r")

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int):
        return crops.resized_by_cv2(self.pixels[index]), index


@ENTRIES.loader("torch + numpy memmap + OpenCV, workers", "torch", "cv2", prepare=pixels)
def torch_memmap(setting: Setting):
    from torch.utils.data import DataLoader

    loader = DataLoader(
        Pixels(pixels(setting)),
        BATCH,
        shuffle=True,
        drop_last=True,
        num_workers=setting.threads,
        persistent_workers=True,
        worker_init_fn=one_thread,
    )
    while True:
        yield from loader
