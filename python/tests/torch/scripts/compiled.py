"""A compiled model, once with `fullgraph=True` and a hook on a layer: graphs and recompilations are printed."""

import sys

import torch
from clock import epoch_took, now
from torch import nn
from torch._dynamo.utils import counters
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


torch.set_num_threads(1)
torch.manual_seed(5)
x = torch.randn(200, 16)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=40)
plain = Net()
if "hooked" in sys.argv:
    plain.head.register_forward_hook(lambda module, args, output: output * 2)
model = torch.compile(plain, backend="aot_eager", fullgraph="full" in sys.argv)
if "method" in sys.argv:
    model = plain
    model.compile(backend="aot_eager")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    model.train()
    began = now()
    for inputs, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), target)
        loss.backward()
        optimizer.step()
    epoch_took(now() - began)
    model.eval()
    with torch.no_grad():
        for inputs, target in loader:
            value = nn.functional.mse_loss(model(inputs), target)
    print(epoch, loss.item().hex(), value.item().hex())
model(torch.randn(7, 16))
model(torch.randn(9, 16))
print(
    sorted(
        (kind, sorted(found.items()))
        for kind, found in counters.items()
        if found
        and kind
        in ("stats", "frames", "graph_break", "recompiles", "aot_autograd", "unimplemented")
    )
)
