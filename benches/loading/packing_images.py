"""Packing images decoded, against decoding alone: one function for each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import formats
import numpy as np
from entry import Entries, Setting, Task
from packing import pack_here
from sets import IMAGES, SIDE, image_files

ENTRIES = Entries()


@ENTRIES.task("laptime pack --decode, written and synced", "laptime.loader")
def laptime_images(setting: Setting) -> Task:
    source, target = setting.sets.jpegs(), setting.sets.folder / "timed" / "jpegs.pack"
    target.parent.mkdir(exist_ok=True)
    options = ("--decode", "--size", str(SIDE), "--threads", str(setting.threads))
    return Task(lambda: pack_here(source, target, *options), IMAGES, lambda _: "")


@ENTRIES.task(
    "laptime.Loader, decoding alone",
    "laptime.loader",
    prepare=lambda s: formats.packed(s.sets, s.sets.jpegs()),
)
def laptime_decoding(setting: Setting) -> Task:
    from laptime import Loader
    from laptime.image import resize

    pack = formats.packed(setting.sets, setting.sets.jpegs())
    # No resizing: the images have this size. Bytes with the channels last, as they come from the decoder.
    transform = resize(SIDE).channels_last().as_bytes()
    loader = Loader(pack, 64, threads=setting.threads, transform=transform, output="numpy")
    return Task(lambda: sum(len(x) for x, _ in loader), IMAGES, lambda count: f"{count} images")


@ENTRIES.task("simplejpeg in threads, decoding alone", "simplejpeg")
def simplejpeg_decoding(setting: Setting) -> Task:
    import simplejpeg

    return _decoding(setting, simplejpeg.decode_jpeg)


@ENTRIES.task("Pillow in threads, decoding alone", "PIL")
def pil_decoding(setting: Setting) -> Task:
    import io

    from PIL import Image

    return _decoding(setting, lambda jpeg: np.asarray(Image.open(io.BytesIO(jpeg))))


def _decoding(setting: Setting, decode) -> Task:
    encoded = [Path(file).read_bytes() for file in image_files(setting.sets.jpegs())[0]]

    def share(start: int) -> int:
        return sum(
            decode(jpeg) is not None for jpeg in islice(encoded, start, None, setting.threads)
        )

    def work() -> int:
        with ThreadPoolExecutor(setting.threads) as pool:
            return sum(pool.map(share, range(setting.threads)))

    return Task(work, IMAGES, lambda count: f"{count} images")
