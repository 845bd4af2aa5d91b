"""Pixels: what comes out of any kind of image is what Pillow makes of it, but for a step of rounding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import laptime
import numpy as np
import pytest

from .conftest import pack

pil = pytest.importorskip("PIL.Image")

# The decoder that is built in rounds otherwise than libjpeg where it interpolates colours.
BUILT_IN_STEPS = 8


def picture(height: int, width: int) -> Any:
    """Gradients, edges and a corner that tells left from right and top from bottom."""
    y, x = np.mgrid[:height, :width]
    edge = (x // 7 + y // 5) % 2 * 60
    bands = [(x * 3) % 256, (y * 2 + edge) % 256, (x + y + edge) % 256]
    pixels = np.stack(bands, axis=-1).astype(np.uint8)
    pixels[: height // 4, : width // 4] = (250, 10, 10)
    return pil.fromarray(pixels)


def loaded(folder: Path, transform: Any, **options: Any) -> list[np.ndarray]:
    """The images of a folder in the order of their names, transformed."""
    target = folder.parent / f"{folder.name}.pack"
    if not target.exists():
        pack(folder, "-o", target)
    loader = laptime.Loader(target, 1, transform=transform, output="numpy", **options)
    return [pictures[0] for pictures, *_ in loader]


def saved(folder: Path, images: dict[str, Callable[[Path], Any]]) -> list[Any]:
    """Writes images and returns what Pillow reads of them."""
    (folder / "any").mkdir(parents=True)
    for name, save in images.items():
        save(folder / "any" / name)
    return [pil.open(folder / "any" / name) for name in sorted(images)]


def test_a_png_of_any_kind_is_read_as_pillow_reads_it(tmp_path: Path) -> None:
    colour = picture(37, 53)
    deep = (np.asarray(colour.convert("L")).astype(np.uint16) << 8) + 77
    clear = colour.convert("RGBA")
    clear.putalpha(colour.convert("L"))
    kinds: dict[str, Callable[[Path], Any]] = {
        "alpha.png": clear.save,
        "colour.png": colour.save,
        "dot.png": picture(1, 1).save,
        "grey.png": colour.convert("L").save,
        "grey_alpha.png": colour.convert("LA").save,
        "one_bit.png": colour.convert("1").save,
        "palette.png": colour.convert("P", palette=pil.Palette.ADAPTIVE).save,
        "two_colours.png": colour.quantize(2).save,
        "sixteen_bits.png": pil.fromarray(deep).save,
    }
    images = saved(tmp_path / "kinds", kinds)
    found = loaded(tmp_path / "kinds", laptime.image.center_crop(40).channels_last().as_bytes())
    for image, pixels in zip(images, found, strict=True):
        name = Path(image.filename).name
        if name.startswith("sixteen"):
            # Pillow clips these; torchvision and others take the upper byte.
            image = pil.fromarray((deep >> 8).astype(np.uint8))
        whole = np.asarray(image.convert("RGB"))
        height, width = whole.shape[:2]
        expected = np.zeros((40, 40, 3), np.uint8)
        top, left = (40 - min(height, 40)) // 2, max(0, round((width - 40) / 2))
        across = (40 - min(width, 40)) // 2
        part = whole[:, left : left + 40]
        expected[top : top + part.shape[0], across : across + part.shape[1]] = part
        assert (pixels == expected).all(), name


def test_a_jpeg_of_any_kind_is_read_as_pillow_reads_it(tmp_path: Path) -> None:
    colour = picture(45, 61)
    exif = pil.Exif()
    exif[0x0112] = 6
    kinds: dict[str, Callable[[Path], Any]] = {
        "cmyk.jpg": lambda path: colour.convert("CMYK").save(path, quality=95),
        "dot.jpg": lambda path: picture(1, 1).save(path),
        "grey.jpg": lambda path: colour.convert("L").save(path, quality=95),
        "not_sampled.jpg": lambda path: colour.save(path, quality=95, subsampling=0),
        "plain.jpg": lambda path: colour.save(path, quality=95),
        "progressive.jpg": lambda path: colour.save(path, quality=95, progressive=True),
        "restarts.jpg": lambda path: colour.save(path, quality=95, restart_marker_rows=1),
        "rgb.jpg": lambda path: colour.save(path, quality=95, keep_rgb=True),
        # What a camera notes is ignored, as torchvision and Pillow do where they are not asked.
        "turned.jpg": lambda path: colour.save(path, quality=95, exif=exif),
    }
    images = saved(tmp_path / "kinds", kinds)
    found = loaded(tmp_path / "kinds", laptime.image.random_crop(1).channels_last().as_bytes())
    assert len(found) == len(images)
    for height in (45, 1):
        transform = laptime.image.center_crop((height, 61)).channels_last().as_bytes()
        for image, pixels in zip(images, loaded(tmp_path / "kinds", transform), strict=True):
            if image.size == (1, 1):
                continue
            whole = np.asarray(image.convert("RGB")).astype(int)
            top = round((45 - height) / 2)
            off = abs(pixels.astype(int) - whole[top : top + height])
            name = Path(image.filename).name
            assert off.max() <= 40 and off.mean() <= BUILT_IN_STEPS / 4, (
                name,
                off.max(),
                off.mean(),
            )


@pytest.mark.parametrize("size", [(20, 30), (90, 130), (20, 130), (45, 61), (1, 1)])
def test_resizing_is_pillows_bilinear_filter(tmp_path: Path, size: tuple[int, int]) -> None:
    colour = picture(45, 61)
    saved(tmp_path / "one", {"a.png": colour.save})
    height, width = size
    expected = np.asarray(colour.resize((width, height), pil.Resampling.BILINEAR)).astype(int)
    as_bytes = laptime.image.resize(size).channels_last().as_bytes()
    (pixels,) = loaded(tmp_path / "one", as_bytes)
    # Pillow rounds after each of its two passes.
    assert abs(pixels.astype(int) - expected).max() <= 1
    (plain,) = loaded(tmp_path / "one", laptime.image.resize(size))
    assert abs(plain.transpose(1, 2, 0) * 255 - expected).max() <= 1.1
    mean, deviation = np.array(laptime.image.IMAGENET)
    (normal,) = loaded(tmp_path / "one", laptime.image.resize(size), normalize="imagenet")
    assert (
        abs(normal - ((plain.transpose(1, 2, 0) - mean) / deviation).transpose(2, 0, 1)).max()
        < 1e-5
    )
    last = laptime.image.resize(size).channels_last()
    (turned,) = loaded(tmp_path / "one", last, normalize="imagenet")
    assert (turned == normal.transpose(1, 2, 0)).all()


def test_a_middle_is_that_of_torchvision(tmp_path: Path) -> None:
    colour = picture(45, 61)
    saved(tmp_path / "one", {"a.png": colour.save})
    (pixels,) = loaded(
        tmp_path / "one",
        laptime.image.center_crop((30, 32), shorter_side=36).channels_last().as_bytes(),
    )
    resized = np.asarray(colour.resize((36 * 61 // 45, 36), pil.Resampling.BILINEAR)).astype(int)
    expected = resized[3:33, round((48 - 32) / 2) :][:, :32]
    assert abs(pixels.astype(int) - expected).max() <= 1


def test_a_crop_that_is_not_resized_is_a_part_of_the_image_or_its_mirror(tmp_path: Path) -> None:
    colour = picture(45, 61)
    saved(tmp_path / "one", {"a.png": colour.save})
    whole = np.pad(np.asarray(colour), ((4, 4), (4, 4), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(whole, (40, 50, 3))[:, :, 0]
    transform = laptime.image.random_crop((40, 50), padding=4, flip=True).channels_last().as_bytes()
    places, mirrored = set(), set()
    for seed in range(40):
        (pixels,) = loaded(tmp_path / "one", transform, seed=seed)
        for is_mirrored, view in ((False, pixels), (True, pixels[:, ::-1])):
            for place in np.argwhere((windows == view).all(axis=(2, 3, 4))):
                places.add(tuple(place.tolist()))
                mirrored.add(is_mirrored)
                break
            else:
                continue
            break
        else:
            pytest.fail(f"seed {seed} is no part of the image")
    assert len(places) > 30 and mirrored == {False, True}
