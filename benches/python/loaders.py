"""Three loaders as people have them, for `loader_search.py`: one computes, one waits, one is tiny."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

import numpy
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, TensorDataset

# Where the pictures lie; written once.
FOLDER = Path(os.environ.get("LOADER_PICTURES", "/tmp/laptime-loader-pictures"))
PICTURES = 512
# What an object store takes to answer, and how long it takes more now and then.
LATENCY_S, SLOW_S = 0.004, 0.020


def write_pictures() -> None:
    """JPEG files with something in them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(0)
    for number in range(PICTURES):
        path = FOLDER / f"{number:04}.jpg"
        if not path.exists():
            rough = random.integers(0, 255, (24, 32, 3), dtype=numpy.uint8)
            Image.fromarray(rough).resize((320, 240), Image.Resampling.BICUBIC).save(
                path, quality=90
            )


class Pictures(Dataset):
    """Decoded, cropped, flipped and scaled, as for a classifier."""

    def __init__(self) -> None:
        self.paths = sorted(FOLDER.glob("*.jpg"))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        picture = Image.open(self.paths[index]).convert("RGB")
        picture = picture.crop((16, 8, 304, 232)).resize((160, 160), Image.Resampling.BILINEAR)
        values = numpy.asarray(picture, dtype=numpy.float32) / 255.0
        if index % 2:
            values = values[:, ::-1]
        values = (values - 0.45) / 0.225
        return torch.from_numpy(numpy.ascontiguousarray(values.transpose(2, 0, 1))), index % 10


class Remote(Dataset):
    """Samples from far away: nearly all of the time is waiting, for one in sixteen a while longer."""

    def __len__(self) -> int:
        return 4096

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(SLOW_S if index % 16 == 0 else LATENCY_S)
        stored = io.BytesIO(bytes(4096))
        return torch.frombuffer(bytearray(stored.read()), dtype=torch.uint8).float(), index


def decoded() -> DataLoader:
    return DataLoader(Pictures(), batch_size=16, shuffle=True)


def remote() -> DataLoader:
    return DataLoader(Remote(), batch_size=8, shuffle=True)


def in_memory() -> DataLoader:
    rows = TensorDataset(torch.randn(50_000, 32), torch.randint(0, 10, (50_000,)))
    return DataLoader(rows, batch_size=256, shuffle=True)
