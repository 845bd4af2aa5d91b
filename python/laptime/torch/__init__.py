"""PyTorch without a line of code: hooks that say to the recorder what a training script does.

Attached by the start-up hook when torch is imported, or by `laptime.torch.attach()`. Every replaced
attribute is a plain Python function, which Dynamo understands, and steps aside while Dynamo traces; no
global module hook is used, since those make compiled models compile again. A compiled model keeps its
graphs.
"""

from __future__ import annotations

import torch

from .. import _frameworks, _guard, _training
from . import (
    checkpoint,
    collectives,
    copies,
    dynamo,
    facts,
    gradients,
    loader,
    modules,
    optimizers,
    workers,
)

_attached = False


def attach() -> None:
    """Attaches every hook once; the run says what cannot attach."""
    global _attached
    if _attached:
        return
    _attached = True
    _frameworks.register(
        "torch",
        optimizers=(torch.optim.Optimizer, facts.optimizer_facts),
        models=(torch.nn.Module, facts.model_facts),
        data=(torch.utils.data.DataLoader, facts.loader_facts),
        # A loader has rows or does not know them.
        counts_rows=False,
    )
    _guard.attach("dynamo", dynamo.hide_from_dynamo)
    _guard.attach("Module.__call__", modules.attach)
    _guard.attach("backward", gradients.attach)
    _guard.attach("Optimizer", optimizers.attach)
    _guard.attach("update", optimizers.attach_around)
    _guard.attach("torch.save", checkpoint.attach)
    _guard.attach("torch.distributed", collectives.attach)
    _guard.attach("Tensor.to", copies.attach)
    _guard.attach("DataLoader", loader.attach)
    _guard.attach("DataLoader workers", workers.attach)
    _training.end_with_script()
