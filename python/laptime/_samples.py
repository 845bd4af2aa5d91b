"""Samples: how many a batch has, found without importing its framework."""

from __future__ import annotations

from typing import Any


def samples_of(batch: Any) -> int:
    """Samples in a batch: the first dimension of its first array; 0 when there is none."""
    while True:
        if isinstance(batch, dict):
            batch = tuple(batch.values())
        if not isinstance(batch, (tuple, list)):
            break
        batch = batch[0] if batch else None
    try:
        first = batch.shape[0]
    except (AttributeError, IndexError, TypeError, ValueError):
        # A scalar, an object without a shape, or a shape of which not even the rank is known.
        return 0
    return first if type(first) is int else 0
