"""Padding: how much of a batch of sequences is padding, by the mask that comes with it.

A look is taken at the batches whose loading is timed, and at a few of them only.
"""

from __future__ import annotations

from collections import UserDict
from typing import Any

import torch

from .. import _guard, _native
from .sizes import untracked

_MASK = "attention_mask"
# Looks until the share is known well enough, and the largest mask that is looked at: 50 us.
_LOOKS = 8
_LARGEST = 1 << 18
# Modes that see every operation.
_dispatch_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)


class _Seen:
    """Places and columns of the masks so far, and how many of them are padding."""

    looks = 0
    places = padding = 0
    columns = empty = 0


@_guard.safely
def look_at_padding(batch: Any) -> None:
    """Counts the padding of a batch that has a mask, in the memory of the host."""
    if _Seen.looks >= _LOOKS:
        return
    mask = _mask_of(batch)
    if mask is None or _dispatch_modes():
        return
    with untracked():
        if mask.device.type != "cpu" or mask.dim() != 2 or not 0 < mask.numel() <= _LARGEST:
            return
        if mask.is_floating_point():
            # Added to scores: zero means that a place counts.
            return
        used = mask != 0
        _Seen.padding += mask.numel() - int(used.sum())
        _Seen.places += mask.numel()
        _Seen.empty += mask.shape[1] - int(used.any(0).sum())
        _Seen.columns += mask.shape[1]
    _Seen.looks += 1
    if _native.in_training():
        _native.fit_update(facts())


def facts() -> dict[str, Any]:
    """The share of places that are padding, and of columns that have nothing else; nothing without masks."""
    if not _Seen.looks:
        return {}
    return {
        "torch.padding": f"{_Seen.padding / _Seen.places:.3f}",
        "torch.padded_columns": f"{_Seen.empty / _Seen.columns:.3f}",
    }


def _mask_of(batch: Any) -> Any:
    # The batches of transformers are no dictionaries, but have one.
    batch = batch.data if isinstance(batch, UserDict) else batch
    mask = dict.get(batch, _MASK) if isinstance(batch, dict) else None
    return mask if type(mask) is torch.Tensor else None
