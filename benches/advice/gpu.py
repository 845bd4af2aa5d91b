"""ResNet-50 in plain fp32 on random pictures: what `laptime advise` is to find on a GPU.

`--with` makes some of its changes in the script, to see what is advised and gained on top of them.
"""

from __future__ import annotations

import argparse
import contextlib

import torch
import torchvision
from torch import nn

CHANGES = ("tf32", "autocast", "channels_last", "compile")

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--batch", type=int, default=256)
parser.add_argument("--steps", type=int, default=40, help="steps of an epoch")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--with", dest="changes", default="", help="some of " + ",".join(CHANGES))
options = parser.parse_args()
changes = set(filter(None, options.changes.split(",")))
if changes - set(CHANGES):
    parser.error(f"unknown: {', '.join(changes - set(CHANGES))}")

torch.manual_seed(0)
torch.backends.cudnn.allow_tf32 = "tf32" in changes
torch.set_float32_matmul_precision("high" if "tf32" in changes else "highest")
layout = torch.channels_last if "channels_last" in changes else torch.contiguous_format
model = torchvision.models.resnet50().cuda().to(memory_format=layout)
if "compile" in changes:
    model = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loss_of = nn.CrossEntropyLoss()
# A few batches that stay on the GPU: nothing is loaded and nothing copied.
batches = [
    (
        torch.randn(options.batch, 3, 224, 224, device="cuda").to(memory_format=layout),
        torch.randint(1000, (options.batch,), device="cuda"),
    )
    for _ in range(4)
]


def autocast() -> contextlib.AbstractContextManager[None]:
    """What the forward pass is computed in."""
    if "autocast" in changes:
        return torch.autocast("cuda", torch.bfloat16)
    return contextlib.nullcontext()


for epoch in range(options.epochs):
    total = torch.zeros((), device="cuda")
    for step in range(options.steps):
        pictures, labels = batches[step % len(batches)]
        optimizer.zero_grad()
        with autocast():
            loss = loss_of(model(pictures), labels)
        loss.backward()
        optimizer.step()
        total += loss.detach()
    print(f"epoch {epoch + 1}: loss {total.item() / options.steps:.3f}", flush=True)
