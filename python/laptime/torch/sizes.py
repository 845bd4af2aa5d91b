"""Sizes: how many samples or tokens a batch has, by a look at its tensors that nobody sees."""

from __future__ import annotations

from typing import Any

import torch

from .. import _guard, _native

_Tensor = torch.Tensor
untracked = torch._C.DisableTorchFunction

# Depth to look for a tensor in a batch: dictionaries of tuples are about as deep as they get.
DEEPEST = 4


def record_sizes(inputs: Any) -> None:
    """Notes the samples or the tokens in the input of a model, where no loader says how many there are."""
    # A look at a tensor's shape is seen by the user's tensor subclasses and modes, unless it is hidden.
    with untracked():
        first = _first_tensor(inputs, 0)
        if first is None:
            return
        dimensions = first.dim()
        if not dimensions:
            _native.take_samples(1)
        elif dimensions == 2 and not first.is_floating_point():
            # Numbers of tokens: sequences may stand in rows or in columns, so only their product is sure.
            _native.take_tokens(first.numel())
        elif dimensions != 3:
            # Of three dimensions the first may be that of time.
            samples = first.shape[0]
            # While shapes are traced they are no numbers.
            _native.take_samples(samples if type(samples) is int else 0)


def _first_tensor(batch: Any, depth: int) -> Any:
    if isinstance(batch, _Tensor):
        return batch
    if depth == DEEPEST:
        return None
    if isinstance(batch, dict):
        batch = tuple(batch.values())
    if isinstance(batch, (tuple, list)):
        return next(
            (found for part in batch if (found := _first_tensor(part, depth + 1)) is not None), None
        )
    return None


def find_tensor(batch: Any) -> Any:
    """The first tensor in a batch, or `None`."""
    return _first_tensor(batch, 0)


@_guard.safely
def find_samples(batch: Any) -> int:
    """Samples in a batch: the first dimension of its first tensor."""
    # A look at a tensor's shape is seen by the user's tensor subclasses and modes, unless it is hidden.
    with untracked():
        first = _first_tensor(batch, 0)
        found = 0 if first is None else first.shape[0] if first.dim() else 1
    # While shapes are traced they are no numbers.
    return found if type(found) is int else 0
