"""Loader workers of every kind: `workers.py NUMBER [fork|spawn|forkserver] [persistent] [iterable]`."""

import sys
import time

import torch
from clock import epoch_took, now
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


def double(row: torch.Tensor) -> torch.Tensor:
    time.sleep(0.0005)
    return row * 2


class Rows(Dataset):
    def __init__(self, transform) -> None:
        self.rows = torch.arange(240 * 4, dtype=torch.float32).view(240, 4) / 960
        self.transform = transform

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int):
        return self.transform(self.rows[at]) + torch.rand(()) * 0.01, self.rows[at].sum()


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        start, jump = (0, 1) if info is None else (info.id, info.num_workers)
        for at in range(start, 240, jump):
            yield torch.full((4,), at / 240) + torch.rand(()) * 0.01, torch.tensor(at / 60)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(10)
    number = int(sys.argv[1])
    context = next((word for word in sys.argv if word in ("fork", "spawn", "forkserver")), None)
    streams = "iterable" in sys.argv
    loader = DataLoader(
        Stream() if streams else Rows(double),
        batch_size=25,
        shuffle=not streams,
        num_workers=number,
        multiprocessing_context=context if number else None,
        persistent_workers="persistent" in sys.argv,
    )
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        began = now()
        for inputs, target in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs)[:, 0], target)
            loss.backward()
            optimizer.step()
            print(inputs.double().sum().item().hex())
        epoch_took(now() - began)
        print(epoch, loss.item().hex())
    print(torch.rand(3).tolist())


if __name__ == "__main__":
    main()
