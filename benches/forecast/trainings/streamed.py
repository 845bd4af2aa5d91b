"""A PyTorch training that reads its samples from files, in every epoch from storage or once: `python streamed.py`.

python streamed.py FOLDER [--epochs N] [--cached]
"""

import argparse
import os

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--epochs", type=int, default=40)
parser.add_argument("--cached", action="store_true")
args = parser.parse_args()


class Files(Dataset):
    """A sample a file; the kernel is told to forget it unless it may keep it."""

    def __init__(self) -> None:
        self.paths = sorted(entry.path for entry in os.scandir(args.folder))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> torch.Tensor:
        with open(self.paths[index], "rb") as file:
            sample = np.frombuffer(file.read(), np.float32)
            if not args.cached:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return torch.from_numpy(sample.copy())


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    loader = DataLoader(Files(), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(16_384, 128), nn.ReLU(), nn.Linear(128, 1))
    optimizer = torch.optim.Adam(model.parameters())
    for _epoch in range(args.epochs):
        for inputs in loader:
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            optimizer.step()
    with open("/proc/self/io") as counters:
        read = next(line for line in counters if line.startswith("read_bytes"))
    print("read", read.split()[1])


main()
