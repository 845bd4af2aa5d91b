"""Device: the GPU that torch computes on, from the moment a script first uses it."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .. import _guard, _native, _training


def attach() -> None:
    """Times of the device are taken once there is one; a script on a CPU never pays for it."""
    _training.before_fit_ends.append(_record_peak)
    when_used(begin)


def when_used(attach: Callable[[], None]) -> None:
    """Calls `attach` when the script first uses a GPU, or now when it has."""
    if torch.cuda.is_initialized():
        attach()
    else:
        torch.cuda._lazy_call(attach)


_is_timed = False


@_guard.safely
def begin() -> None:
    """Times of the device are taken from here on, if torch has begun to use it."""
    global _is_timed
    # On a GPU of another maker torch's functions have the same names, but there is no such driver.
    if not _is_timed and torch.version.cuda is not None and torch.cuda.is_initialized():
        index = torch.cuda.current_device()
        _is_timed = _native.begin_device(index, torch._C._cuda_getCurrentRawStream)


@_guard.safely
def _record_peak() -> None:
    """The most memory that torch had taken on the device is known when a fit ends."""
    if _is_timed:
        _native.fit_update({"peak_device_bytes": torch.cuda.max_memory_allocated()})
