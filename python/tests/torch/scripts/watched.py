"""Tensors whose copies and waits are watched as on a GPU: what they give, and what compiles them, stays the same."""

import torch
from laptime.torch import copies, waits


def uses(x: torch.Tensor) -> list[object]:
    kept = torch.zeros(3).copy_(x)
    first = x[0]
    return [
        first.item(),
        x.tolist(),
        float(first),
        int(first),
        bool(first),
        x.nonzero().tolist(),
        x.to(torch.float64).cpu().tolist(),
        kept.tolist(),
    ]


def compiled(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros(3, dtype=torch.float64).copy_(x.to(torch.float64).cpu())


def error_of(x: torch.Tensor) -> str:
    try:
        x.item()
    except RuntimeError as error:
        return str(error)
    return ""


x = torch.tensor([1.5, 0.0, 2.0])
bare = uses(x), error_of(x), compiled(x).tolist()
copies._watch_copies()
waits._watch_waits()
once = torch.compile(compiled, backend="eager", fullgraph=True)
assert (uses(x), error_of(x), once(x).tolist()) == bare
assert {
    name for name in waits._METHODS if not hasattr(getattr(torch.Tensor, name), "_laptime")
} == set()
print("same")
