"""Device: the GPU that torch computes on, from the moment a script first uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .. import _guard, _native


def attach() -> None:
    """Times of the device are taken once there is one; a script on a CPU never pays for it."""
    when_used(_begin)


def when_used(attach: Callable[[], None]) -> None:
    """Calls `attach` when the script first uses a GPU, or now when it has."""
    if torch.cuda.is_initialized():
        attach()
    else:
        torch.cuda._lazy_call(attach)


@_guard.safely
def _begin() -> None:
    # On a GPU of another maker torch's functions have the same names, but there is no such driver.
    if torch.version.cuda is not None:
        _native.begin_device(torch.cuda.current_device(), torch._C._cuda_getCurrentRawStream)


@_guard.safely
def peak_facts() -> dict[str, Any]:
    """What is known of the device at the end of a fit."""
    if torch.version.cuda is None or not torch.cuda.is_initialized():
        return {}
    return {"peak_device_bytes": torch.cuda.max_memory_allocated()}
