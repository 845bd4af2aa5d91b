"""FLOPs: floating-point operations of a module's forward call, where they follow from its shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torch import nn

# Operations of a call, from the module, its inputs and its output.
Count = Callable[[Any, Any, Any], int]


def flops_of(module: Any) -> Count | None:
    """What counts the operations of a module's calls; a multiplication and its addition are two."""
    return next((count for kind, count in _KNOWN if isinstance(module, kind)), None)


def _linear(module: Any, inputs: Any, output: Any) -> int:
    return 2 * int(output.numel()) * int(module.in_features)


def _convolution(module: Any, inputs: Any, output: Any) -> int:
    of_each = module.in_channels // module.groups * math.prod(module.kernel_size)
    return 2 * int(output.numel()) * int(of_each)


def _transposed(module: Any, inputs: Any, output: Any) -> int:
    of_each = module.out_channels // module.groups * math.prod(module.kernel_size)
    return 2 * int(inputs[0].numel()) * int(of_each)


def _nothing(module: Any, inputs: Any, output: Any) -> int:
    return 0


def _attention(module: Any, inputs: Any, output: Any) -> int:
    """The four projections, the scores and the sums that they weight."""
    query, key, value = inputs[:3]
    width = int(module.embed_dim)
    projections = query.numel() * 2 + key.numel() + value.numel()
    sources = key.shape[0 if key.dim() == 2 or not module.batch_first else 1]
    return 2 * int(projections) * width + 4 * int(query.numel()) * int(sources)


_KNOWN: tuple[tuple[Any, Count], ...] = (
    (nn.Linear, _linear),
    ((nn.Conv1d, nn.Conv2d, nn.Conv3d), _convolution),
    ((nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d), _transposed),
    ((nn.Embedding, nn.EmbeddingBag), _nothing),
    (nn.MultiheadAttention, _attention),
)
