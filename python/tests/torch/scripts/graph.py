"""A step captured as a graph and replayed; without a GPU, a stand-in for the graph replays it by running it again."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

try:
    from laptime.torch import graphs
except ImportError:
    graphs = None


class Graph:
    """Captures a step, whose hooks see it once, and replays what the step does without them."""

    def __init__(self, weight, static):
        self.weight, self.static = weight, static

    def capture_begin(self):
        pass

    def capture_end(self):
        pass

    def replay(self):
        gradient = torch.autograd.grad(loss_of(self.static), self.weight)[0]
        with torch.no_grad():
            self.weight -= 1e-3 * gradient


def loss_of(inputs):
    return nn.functional.linear(inputs, model.weight).square().mean()


def step():
    optimizer.zero_grad()
    model(static).square().mean().backward()
    optimizer.step()


torch.manual_seed(0)
model = nn.Linear(8, 1, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
static = torch.zeros(16, 8)
if graphs is not None:
    for name in ("capture_begin", "capture_end", "replay"):
        setattr(Graph, name, getattr(graphs, f"_make_{name}")(getattr(Graph, name)))
for _ in range(3):
    # A graph is captured when everything it needs is there.
    step()
graph = Graph(model.weight, static)
graph.capture_begin()
step()
graph.capture_end()

loader = DataLoader(TensorDataset(torch.randn(160, 8)), batch_size=16)
for epoch in range(3):
    for (batch,) in loader:
        static.copy_(batch)
        graph.replay()
    print("epoch", epoch, loss_of(static).item().hex())
