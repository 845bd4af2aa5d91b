"""A training with a hot function planted in each stage; the words say how data is loaded."""

import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, transform):
        self.transform = transform

    def __len__(self):
        return 24

    def __getitem__(self, index):
        row = self.hot_item(index)
        return self.transform(row), torch.tensor([float(index % 2)])

    def hot_item(self, index):
        end, total = time.perf_counter() + 0.02, 0
        while time.perf_counter() < end:
            for k in range(100):
                total += k
        return torch.full((4,), float(index))


def hot_transform(row):
    end, total = time.perf_counter() + 0.01, 0
    while time.perf_counter() < end:
        for k in range(100):
            total += k
    return row / 24


def hot_collate(rows):
    end, total = time.perf_counter() + 0.05, 0
    while time.perf_counter() < end:
        total += sum([k for k in range(100)])
    return torch.stack([x for x, _ in rows]), torch.stack([y for _, y in rows])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 1)

    def forward(self, x):
        self.hot_forward()
        return Hot.apply(self.linear(x))

    def hot_forward(self):
        end, total = time.perf_counter() + 0.06, 0
        while time.perf_counter() < end:
            for k in range(100):
                total += k


class Hot(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        hot_backward()
        return gradient


def hot_backward():
    end, total = time.perf_counter() + 0.04, 0
    while time.perf_counter() < end:
        for k in range(100):
            total += k


class SlowSGD(torch.optim.SGD):
    def step(self, closure=None):
        self.hot_step()
        return super().step(closure)

    def hot_step(self):
        time.sleep(0.05)


def main(workers: int, context: str | None) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = Net()
    optimizer = SlowSGD(net.parameters(), lr=0.1)
    loader = DataLoader(
        Rows(hot_transform),
        batch_size=4,
        num_workers=workers,
        multiprocessing_context=context,
        collate_fn=hot_collate,
        persistent_workers=workers > 0,
    )
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x), y)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
