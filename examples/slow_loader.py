"""A small image classifier whose loader is slower than its model, the way many are.

    laptime run -- python examples/slow_loader.py

Every image is decoded at its full size, made smaller afterwards, and changed one number at a time in
double precision, by the process that trains. `fast_loader.py` is the same training with a loader that
keeps up; docs/speed-it-up.md tells how laptime led from one to the other.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

SHAPES = ("circle", "square", "triangle", "bar")
STORED = 512  # pixels of a side in the files
SEEN = 64  # pixels of a side that the model sees


def draw(shape: str, dice: random.Random) -> Image.Image:
    """One shape somewhere on a noisy background."""
    low = np.array([[dice.randrange(256) for _ in range(32)] for _ in range(32)], dtype=np.uint8)
    image = Image.fromarray(low).resize((STORED, STORED)).convert("RGB")
    pen = ImageDraw.Draw(image)
    x, y, r = (dice.randrange(150, 360), dice.randrange(150, 360), dice.randrange(60, 140))
    colour = tuple(dice.randrange(256) for _ in range(3))
    if shape == "circle":
        pen.ellipse((x - r, y - r, x + r, y + r), fill=colour)
    elif shape == "square":
        pen.rectangle((x - r, y - r, x + r, y + r), fill=colour)
    elif shape == "triangle":
        pen.polygon([(x, y - r), (x - r, y + r), (x + r, y + r)], fill=colour)
    else:
        pen.rectangle((x - r, y - r // 5, x + r, y + r // 5), fill=colour)
    return image


def make_images(folder: Path, count: int) -> list[tuple[Path, int]]:
    """JPEG files of each shape, drawn once; later runs find them."""
    dice = random.Random(0)
    files = []
    for number in range(count):
        label = number % len(SHAPES)
        path = folder / SHAPES[label] / f"{number:05}.jpg"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            draw(SHAPES[label], dice).save(path, quality=90)
        files.append((path, label))
    return files


class Images(Dataset[tuple[Tensor, int]]):
    """Files and labels, each image as `transform` makes it."""

    def __init__(self, files: list[tuple[Path, int]], transform: Callable[[Path], Tensor]) -> None:
        self.files = files
        self.transform = transform

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, at: int) -> tuple[Tensor, int]:
        path, label = self.files[at]
        return self.transform(path), label


def brighten(pixels: np.ndarray, by: float) -> np.ndarray:
    """Each value for itself, as a first version often does."""
    return np.array([min(255.0, value * by) for value in pixels.ravel()]).reshape(pixels.shape)


def slow_transform(path: Path) -> Tensor:
    """The whole image, then smaller, then brighter, then normalised."""
    image = Image.open(path).convert("RGB").resize((SEEN, SEEN), Image.Resampling.LANCZOS)
    pixels = brighten(np.asarray(image, dtype=np.float64), random.uniform(0.8, 1.2))
    return torch.from_numpy((pixels / 255.0 - 0.5) / 0.25).permute(2, 0, 1).float()


def make_model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(256, len(SHAPES)),
    )


def train(loader: DataLoader[tuple[Tensor, Tensor]], epochs: int) -> None:
    """An ordinary loop; batches may come as bytes."""
    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        total = 0.0
        for images, labels in loader:
            if images.dtype == torch.uint8:
                images = (images.float() / 255.0 - 0.5) / 0.25
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / len(loader):.3f}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=512, help="how many (default 512)")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--data", type=Path, default=Path("shapes"), help="folder of the images")
    return parser.parse_args()


def main() -> None:
    torch.manual_seed(0)
    random.seed(0)
    torch.set_num_threads(1)
    args = arguments()
    images = Images(make_images(args.data, args.images), slow_transform)
    train(DataLoader(images, batch_size=args.batch, shuffle=True), args.epochs)


if __name__ == "__main__":
    main()
