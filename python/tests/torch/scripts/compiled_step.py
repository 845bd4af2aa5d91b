"""A whole training step in a compiled function: Dynamo breaks the graph at backward and goes on."""

import torch
from torch import nn
from torch._dynamo.utils import counters

torch.set_num_threads(1)
torch.manual_seed(7)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(10, 32, 8)


@torch.compile(backend="aot_eager")
def train_step(inputs: torch.Tensor) -> torch.Tensor:
    optimizer.zero_grad()
    loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
    loss.backward()
    optimizer.step()
    return loss


@torch.compile(backend="aot_eager")
def update() -> None:
    optimizer.step()


for epoch in range(3):
    for inputs in data:
        loss = train_step(inputs)
    print(epoch, loss.item().hex())
model(data[0]).mean().backward()
update()
print(
    sorted(counters["stats"].items()),
    sum(counters["graph_break"].values()),
    sum(counters["recompiles"].values()),
)
