"""Two ranks of which the second is slow: `torchrun --nproc-per-node 2 uneven.py`."""

import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(17)
dist.init_process_group("gloo")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        time.sleep(0.030 if dist.get_rank() == 1 else 0.001)
        return self.layer(x)


loader = DataLoader(TensorDataset(torch.randn(40, 8)), batch_size=4)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    for (inputs,) in loader:
        optimizer.zero_grad()
        model(inputs).pow(2).mean().backward()
        dist.all_reduce(model.layer.weight.grad)
        optimizer.step()
    if dist.get_rank() == 0:
        print(epoch, len(loader), flush=True)
dist.destroy_process_group()
# Right after its last collective torch aborts in one exit of five, hooked or not (`terminate called without an active
# exception`); 36 of 36 ended well after a pause.
time.sleep(0.3)
