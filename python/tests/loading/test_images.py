"""Images: decoded, cropped, flipped and normalized by the loader's threads, the same for any number of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import laptime
import numpy as np
import pytest

from .conftest import pack


@pytest.fixture(scope="module", params=[[], ["--decode", "--size", 48]], ids=["encoded", "decoded"])
def images(request: pytest.FixtureRequest, photos: Path, tmp_path_factory: Any) -> Path:
    target = tmp_path_factory.mktemp("packs") / "photos.pack"
    pack(photos, *request.param, "-o", target)
    return target


def test_an_image_comes_with_its_label_in_the_shape_that_was_asked_for(images: Path) -> None:
    transform = laptime.image.resize(32).channels_last().as_bytes()
    loader = laptime.Loader(images, 24, transform=transform, output="numpy")
    ((pictures, labels),) = list(loader)
    assert pictures.shape == (24, 32, 32, 3) and pictures.dtype == np.uint8
    # Folders in the order of their names: blue is 0, red is 1.
    assert labels.tolist() == [0] * 12 + [1] * 12
    middle = pictures[:, 16, 16].astype(int)
    expected = np.where(labels[:, None] == 0, (20, 40, 200), (200, 40, 20))
    assert abs(middle - expected).max() <= 4, middle


def test_normalized_pictures_are_what_torchvision_makes_of_them(images: Path) -> None:
    loader = laptime.Loader(
        images, 24, transform=laptime.image.center_crop(24), normalize="imagenet", output="numpy"
    )
    ((pictures, labels),) = list(loader)
    assert pictures.shape == (24, 3, 24, 24) and pictures.dtype == np.float32
    mean, deviation = np.array(laptime.image.IMAGENET)
    red = (np.array([200, 40, 20]) / 255 - mean) / deviation
    assert abs(pictures[labels == 1][:, :, 12, 12] - red).max() < 0.1


def test_what_is_random_depends_on_seed_and_epoch_alone(images: Path) -> None:
    def epochs(seed: int, **options: Any) -> list[np.ndarray]:
        transform = laptime.image.random_crop_flip(16)
        loader = laptime.Loader(
            images, 5, True, seed, transform=transform, output="numpy", **options
        )
        return [np.concatenate([pictures for pictures, _ in loader]) for _ in range(2)]

    first, second = epochs(1, threads=2)
    again = epochs(1, threads=0)
    assert (again[0] == first).all() and (again[1] == second).all()
    assert not (first == second).all() and not (epochs(2)[0] == first).all()


def test_a_broken_image_is_named_when_it_is_needed(photos: Path, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    (folder / "red").mkdir(parents=True)
    whole = next(iter(sorted((photos / "red").iterdir()))).read_bytes()
    (folder / "red" / "1.jpg").write_bytes(whole)
    (folder / "red" / "2.jpg").write_bytes(whole[: len(whole) // 8])
    pack(folder, "-o", tmp_path / "broken.pack")
    loader = laptime.Loader(
        tmp_path / "broken.pack", 2, transform=laptime.image.resize(8), output="numpy"
    )
    # Which one it is, why it cannot be had, and what to do about it.
    with pytest.raises(ValueError, match="(?s)sample 1, .*cut off.*hint: copy or download"):
        next(iter(loader))
    decoding = pack(folder, "--decode", "--size", 8, "-o", tmp_path / "decoded.pack", code=1)
    assert "2.jpg" in decoding.stderr and not (tmp_path / "decoded.pack").exists()
