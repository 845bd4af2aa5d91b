"""A model whose convolutions are laid out channels-last, one of them computed by a parametrization."""

import torch
from torch import nn
from torch.nn.utils import parametrizations

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3),
    nn.ReLU(),
    # Asking it for its weight changes it: one step of the power iteration.
    parametrizations.spectral_norm(nn.Conv2d(8, 8, 3)),
    nn.Conv2d(8, 4, 3),
    nn.Flatten(),
    nn.Linear(144, 2),
).to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
pictures = torch.randn(32, 3, 12, 12)
data = torch.utils.data.TensorDataset(pictures, pictures.mean((1, 2, 3)).gt(0).long())
for epoch in range(2):
    for inputs, labels in torch.utils.data.DataLoader(data, batch_size=8):
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast("cpu", torch.bfloat16):
            loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())
