"""Transforms of images: what `laptime.Loader` does to each one while it loads it.

    laptime.Loader("images.pack", transform=laptime.image.random_crop_flip(224), normalize="imagenet")

A transform is a plain value: the loader's threads decode, crop, resize, flip and normalize in one go, and what is
random about it depends on the seed, the epoch and the sample alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

Size = int | tuple[int, int]

# The mean and the standard deviation of ImageNet's pixels, from 0 to 1, as torchvision's models expect them.
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """What is done to an image; the functions of this module make the usual ones."""

    size: tuple[int, int]
    """Height and width of what comes out."""
    crop: str = "none"
    """Which part is taken: "random_resized", "random", "center" or "none", which is the whole image, resized."""
    scale: tuple[float, float] = (0.08, 1.0)
    """The share of the image's area that "random_resized" takes, from and to."""
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    """Width by height of what "random_resized" takes, from and to."""
    padding: int = 0
    """Black pixels that "random" puts around the image first."""
    shorter_side: int | None = None
    """What "center" resizes the shorter side to first."""
    flip: bool = False
    """Whether every second image, by chance, is mirrored left to right."""
    layout: str = "chw"
    """"chw" as PyTorch's models expect it, or "hwc" as TensorFlow's do."""
    dtype: str = "float32"
    """"float32", from 0 to 1 unless the loader normalizes, or "uint8"."""
    decoder: str = "auto"
    """"turbo", the libturbojpeg that is installed, "built_in", or "auto": the first of them that there is."""

    def channels_last(self) -> Transform:
        """The same with the channels last."""
        return replace(self, layout="hwc")

    def as_bytes(self) -> Transform:
        """The same as bytes, to be normalized elsewhere: a quarter of the memory to move."""
        return replace(self, dtype="uint8")


def random_resized_crop(
    size: Size,
    *,
    scale: tuple[float, float] = (0.08, 1.0),
    ratio: tuple[float, float] = (3 / 4, 4 / 3),
    flip: bool = False,
) -> Transform:
    """A part of random area and shape, resized: torchvision's `RandomResizedCrop`."""
    return Transform(size=_size(size), crop="random_resized", scale=scale, ratio=ratio, flip=flip)


def random_crop_flip(size: Size) -> Transform:
    """A part of random area and shape, resized, and mirrored every second time: what ImageNet's models train with."""
    return random_resized_crop(size, flip=True)


def random_crop(size: Size, *, padding: int = 0, flip: bool = False) -> Transform:
    """A part of this size at a random place, not resized: torchvision's `RandomCrop`."""
    return Transform(size=_size(size), crop="random", padding=padding, flip=flip)


def center_crop(size: Size, *, shorter_side: int | None = None) -> Transform:
    """The middle, after the shorter side was resized where that is given: what models are evaluated with."""
    return Transform(size=_size(size), crop="center", shorter_side=shorter_side)


def resize(size: Size, *, flip: bool = False) -> Transform:
    """The whole image, resized; its aspect ratio is not kept."""
    return Transform(size=_size(size), flip=flip)


def _size(size: Size) -> tuple[int, int]:
    height, width = (size, size) if isinstance(size, int) else size
    return height, width
