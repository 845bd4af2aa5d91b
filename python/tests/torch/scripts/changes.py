"""A training that says how it is done, as its first word wants it: what `LAPTIME_CHANGES` changes shows in it."""

import copy
import gc
import sys

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

KIND = sys.argv[1] if len(sys.argv) > 1 else "images"
torch.manual_seed(3)


class Images(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, at):
        if KIND == "lonely" and get_worker_info() is not None and at == 7:
            raise RuntimeError("only at home")
        return torch.full((3, 6, 6), at / 20), at % 2


class Stream(IterableDataset):
    def __iter__(self):
        images = Images()
        return (images[at] for at in range(20))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.drop = torch.nn.Dropout(0.2)
        self.out = torch.nn.Linear(64, 2)

    def forward(self, images):
        features = self.conv(images)
        self.seen = features.detach()
        if KIND == "rows" and not features.is_contiguous():
            raise TypeError("only rows")
        return self.out(self.drop(features.flatten(1)))


def loader_of(kind):
    if kind == "iterable":
        return DataLoader(Stream(), batch_size=4)
    workers = {"num_workers": 1, "persistent_workers": True} if kind == "workers" else {}
    return DataLoader(Images(), batch_size=4, shuffle=True, **workers)


def batches(loader):
    for images, labels in loader:
        yield images, labels, (images[:, 0, 0, 0] * 20).round().int().tolist()


def parameters(model):
    return model.parameters() if KIND != "embedding" else [*model.parameters(), TABLE.weight]


TABLE = torch.nn.Embedding(4, 2, sparse=True)
model = Net()
kind = torch.optim.Adam if KIND != "embedding" else torch.optim.SGD
optimizer = kind(parameters(model), lr=0.01)
loader = None if KIND == "no_loader" else loader_of(KIND)
given = [(*Images()[at], [at]) for at in range(3)]
for _epoch in range(3):
    for images, labels, numbers in batches(loader) if loader is not None else []:
        optimizer.zero_grad()
        output = model(images)
        loss = torch.nn.functional.cross_entropy(output, labels)
        if KIND == "embedding":
            loss = loss + TABLE(labels).sum()
        loss.backward()
        optimizer.step()
        if KIND == "writes":
            images.mul_(0)
        print("step", numbers, f"{loss.item():.9f}", output.dtype)
    for image, label, _ in given if loader is None else []:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(image[None]), torch.tensor([label])).backward()
        optimizer.step()
if loader is not None:
    print("loader", loader.num_workers, loader.prefetch_factor, loader.persistent_workers)
    print("batch_size", loader.batch_size, "pin_memory", loader.pin_memory)
torch.set_num_threads(1)
print("threads", torch.get_num_threads())
seen = model.seen
print("forward", seen.dtype, seen.is_contiguous(memory_format=torch.channels_last))
print(
    "compiled", model._compiled_call_impl is not None, type(model).__name__, len(model.state_dict())
)
print("copy", copy.deepcopy(model)._compiled_call_impl)
print("optimizer", optimizer.param_groups[0].get("fused"), optimizer.param_groups[0].get("foreach"))
print("gc", gc.isenabled())
