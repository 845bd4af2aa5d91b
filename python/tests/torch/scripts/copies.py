"""Which calls copy between host and device, and whether the host waits: asked of the hooks without a GPU."""

from typing import Any

import torch
from laptime.torch import copies


class OnDevice(torch.Tensor):
    """A tensor that says it is on a GPU."""

    is_cuda = True  # type: ignore[assignment]
    is_cpu = False  # type: ignore[assignment]


HOST = torch.zeros(4)
DEVICE = torch.zeros(4).as_subclass(OnDevice)
CUDA = torch.device("cuda", 1)

# A method, its tensor, its arguments; whether it copies to a device (`None`: nothing) and whether it blocks.
CALLS: list[tuple[str, Any, tuple[Any, ...], dict[str, Any], bool | None, bool]] = [
    ("to", HOST, ("cuda",), {}, True, True),
    ("to", HOST, (CUDA,), {"non_blocking": True}, True, False),
    ("to", HOST, (0, torch.float16, True), {}, True, False),
    ("to", HOST, (), {"device": "cuda:1"}, True, True),
    ("to", HOST, (DEVICE,), {}, True, True),
    ("to", HOST, (torch.float16,), {}, None, False),
    ("to", HOST, ("cpu",), {}, None, False),
    ("to", DEVICE, ("cpu",), {}, False, True),
    ("to", DEVICE, (torch.device("cpu"),), {"non_blocking": True}, False, False),
    ("to", DEVICE, ("cuda:1",), {}, None, False),
    ("to", DEVICE, (torch.float16,), {}, None, False),
    ("cuda", HOST, (), {}, True, True),
    ("cuda", HOST, (0, True), {}, True, False),
    ("cuda", DEVICE, (), {}, None, False),
    ("cpu", DEVICE, (), {}, False, True),
    ("cpu", HOST, (), {}, None, False),
]


for method, tensor, args, kwargs, to_device, blocks in CALLS:
    found = getattr(copies, f"_find_{method}")(tensor, args, kwargs)
    expected = None if to_device is None else (to_device, blocks)
    assert (found and found[1:]) == expected, (method, args, kwargs, found)
    assert found is None or found[0] is tensor
print(len(CALLS))
