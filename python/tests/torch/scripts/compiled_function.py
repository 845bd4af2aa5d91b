"""The model is called inside a compiled function, so no module call is ever seen."""

import torch
from clock import epoch_took, now
from torch import nn
from torch._dynamo.utils import counters
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(6)
x = torch.randn(512, 128)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=128)
model = nn.Sequential(nn.Linear(128, 512), nn.Tanh(), nn.Linear(512, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


@torch.compile(backend="aot_eager", fullgraph=True)
def loss_of(inputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return nn.functional.mse_loss(model(inputs), target)


for epoch in range(4):
    began = now()
    for inputs, target in loader:
        loss = loss_of(inputs, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    epoch_took(now() - began)
    print(epoch, loss.item().hex())
print(sorted(counters["stats"].items()), sorted(counters["graph_break"].items()))
