"""ResNet-18 on a GPU, fed by a DataLoader or by laptime.Loader: `python loading_resnet.py KIND DATA [EPOCHS [TRACE]]`.

KIND is `dataloader` with a folder of images, or `float` or `bytes` with a pack: pixels that are normalized by the
loader's threads, or on the device. Prints images a second of each epoch by the script's own synchronized clock. With
TRACE, a file, one more epoch runs under torch.profiler, whose trace is kept there.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import laptime
import torch
import torchvision
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader

BATCH = 256
WORKERS = 4
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

Batches = Callable[[], Iterator[tuple[torch.Tensor, torch.Tensor]]]


def by_dataloader(folder: str) -> Batches:
    """Images decoded, cropped, flipped and normalized in worker processes."""
    prepare = torchvision.transforms.Compose(
        [
            torchvision.transforms.RandomResizedCrop(224),
            torchvision.transforms.RandomHorizontalFlip(),
            torchvision.transforms.ToTensor(),
            torchvision.transforms.Normalize(MEAN, DEVIATION),
        ]
    )
    images = torchvision.datasets.ImageFolder(folder, prepare)
    loader = DataLoader(
        images, BATCH, shuffle=True, num_workers=WORKERS, pin_memory=True, persistent_workers=True
    )

    def batches() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for pictures, labels in loader:
            yield pictures.cuda(non_blocking=True), labels.cuda(non_blocking=True)

    return batches


def by_laptime(pack: str, as_bytes: bool) -> Batches:
    """The same by a Loader; pixels as bytes are normalized on the device, and take a quarter of the copies."""
    crop = laptime.image.random_crop_flip(224)
    options = (
        {"transform": crop.as_bytes()} if as_bytes else {"transform": crop, "normalize": "imagenet"}
    )
    loader = laptime.Loader(pack, batch_size=BATCH, shuffle=True, device="cuda", **options)
    mean = 255 * torch.tensor(MEAN, device="cuda").view(1, 3, 1, 1)
    deviation = 255 * torch.tensor(DEVIATION, device="cuda").view(1, 3, 1, 1)

    def batches() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for pictures, labels in loader:
            yield (pictures.float() - mean) / deviation if as_bytes else pictures, labels.long()

    return batches


def main() -> None:
    kind, data = sys.argv[1:3]
    epochs = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    batches = by_dataloader(data) if kind == "dataloader" else by_laptime(data, kind == "bytes")
    model = torchvision.models.resnet18().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()

    def train() -> int:
        images = 0
        for pictures, labels in batches():
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.bfloat16):
                loss = loss_of(model(pictures.to(memory_format=torch.channels_last)), labels)
            loss.backward()
            optimizer.step()
            images += len(labels)
        return images

    for _ in range(epochs):
        torch.cuda.synchronize()
        began = time.perf_counter()
        images = train()
        torch.cuda.synchronize()
        took = time.perf_counter() - began
        print(json.dumps({"epoch_s": took, "images_per_s": images / took}), flush=True)
    if len(sys.argv) > 4:
        with profile(activities=[ProfilerActivity.CUDA]) as trace:
            train()
            torch.cuda.synchronize()
        trace.export_chrome_trace(str(Path(sys.argv[4])))


if __name__ == "__main__":
    main()
