"""What is done to an image, as a person would tune it in Python: a random part of it, resized, flipped, normalised."""

from __future__ import annotations

import math
import random

import numpy as np
from sets import SIDE

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
AREA = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)

# (pixel / 255 - mean) / std as one product and one sum for each channel.
_SCALE = np.array([1 / (255 * std) for std in STD], np.float32).reshape(3, 1, 1)
_SHIFT = np.array([-mean / std for mean, std in zip(MEAN, STD)], np.float32).reshape(3, 1, 1)


def random_box(height: int, width: int) -> tuple[int, int, int, int]:
    """Top, left, height and width of the part that is taken, drawn as torchvision draws it."""
    for _ in range(10):
        area = height * width * random.uniform(*AREA)
        ratio = math.exp(random.uniform(math.log(RATIO[0]), math.log(RATIO[1])))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, height - h), random.randint(0, width - w), h, w
    return 0, 0, height, width


def normalised(pixels: np.ndarray) -> np.ndarray:
    """Pixels as normalised `float32` with the channels first, mirrored every second time."""
    if random.random() < 0.5:
        pixels = pixels[:, ::-1]
    out = np.empty((3, SIDE, SIDE), np.float32)
    np.multiply(pixels.transpose(2, 0, 1), _SCALE, out=out)
    out += _SHIFT
    return out


def with_pil(file) -> np.ndarray:
    """Decoded and resized by Pillow, from a path or a file object."""
    from PIL import Image

    with Image.open(file) as opened:
        picture = opened.convert("RGB")
    top, left, height, width = random_box(picture.height, picture.width)
    box = (left, top, left + width, top + height)
    return normalised(np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=box)))


def with_cv2(jpeg: bytes) -> np.ndarray:
    """Decoded and resized by OpenCV."""
    import cv2

    return resized_by_cv2(cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR_RGB))


def with_simplejpeg(jpeg: bytes) -> np.ndarray:
    """Decoded by libjpeg-turbo and resized by OpenCV: the fastest of these."""
    import simplejpeg

    return resized_by_cv2(simplejpeg.decode_jpeg(jpeg))


def resized_by_cv2(pixels: np.ndarray) -> np.ndarray:
    """A random part of decoded pixels, normalised."""
    import cv2

    top, left, height, width = random_box(*pixels.shape[:2])
    part = pixels[top : top + height, left : left + width]
    return normalised(cv2.resize(part, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR))
