"""An agent that trains some epochs on each new lot of experience: those epochs are no laps."""

import torch
from torch import nn


def main() -> None:
    torch.manual_seed(0)
    policy = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    for iteration in range(5):
        with torch.no_grad():
            experience = torch.stack([policy(torch.randn(4)) for _ in range(64)])
        states = torch.randn(64, 4)
        for epoch in range(4):
            for start in range(0, 64, 16):
                loss = (
                    (policy(states[start : start + 16]) - experience[start : start + 16])
                    .pow(2)
                    .mean()
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        print(iteration, loss.item().hex())


main()
