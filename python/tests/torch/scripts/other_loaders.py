"""A loader that trains, and others beside it as scripts have them; what is printed must not change with them known."""

import pickle
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
kinds = sys.argv[1:]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(torch.randn(30, 8))

    def __len__(self):
        return 10


class Endless(Dataset):
    def __getitem__(self, at):
        return torch.randn(8)

    def __len__(self):
        raise TypeError("nobody knows")


class Drawn(Sampler):
    def __iter__(self):
        return iter(torch.randperm(20).tolist())

    def __len__(self):
        return int(torch.randint(10, 20, ()))


class Own(DataLoader):
    def __init__(self, rows, **kwargs):
        super().__init__(TensorDataset(torch.randn(rows, 8)), batch_size=16, **kwargs)

    def __eq__(self, other):
        raise RuntimeError("loaders are not compared")

    __hash__ = None


before = DataLoader(TensorDataset(torch.randn(10, 8)), batch_size=5)
labelled = DataLoader(TensorDataset(torch.randn(120, 8)), batch_size=10, shuffle=True)
same = DataLoader(labelled.dataset, batch_size=40)
others = []
if "validation" in kinds:
    # 48 rows in 3 batches: two rows are left over.
    others.append(Own(50, drop_last=True))
if "test" in kinds:
    others.append(DataLoader(TensorDataset(torch.randn(200, 8)), batch_size=50))
if "odd" in kinds:
    others += [DataLoader(Stream(), batch_size=5), DataLoader(Endless(), batch_size=5)]
    others.append(DataLoader(labelled.dataset, sampler=Drawn()))
    others.append(pickle.loads(pickle.dumps(DataLoader(torch.randn(70, 8), batch_size=7))))
    DataLoader(torch.randn(90, 8), batch_size=9)  # Nobody has this one.
    try:
        DataLoader(torch.randn(90, 8), num_workers=-1)
    except ValueError as error:
        frames, at = [], error.__traceback__
        while at is not None:
            frames.append(at.tb_frame.f_code.co_name)
            at = at.tb_next
        print(error, frames)
if "alone" in kinds:
    del before

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
if "beside" in kinds:
    unlabelled = DataLoader(TensorDataset(torch.randn(130, 8)), batch_size=10)
for epoch in range(2):
    batches = zip(labelled, unlabelled, strict=False) if "beside" in kinds else labelled
    for batch in batches:
        loss = model(batch[0][0] if "beside" in kinds else batch[0]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item().hex(), torch.rand(1).item())
if "raises" in kinds:
    DataLoader(torch.randn(90, 8), batch_size=0)
