"""PyTorch without a line of code: hooks that say to the recorder what a training script does.

Attached by the start-up hook when torch is imported, or by `laptime.torch.attach()`. Every replaced
attribute is a plain Python function, which Dynamo understands, and steps aside while Dynamo traces; no
global module hook is used, since those make compiled models compile again. A compiled model keeps its
graphs.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .. import _frameworks, _guard, _own_passes, _sampling, _training
from . import (
    checkpoint,
    collectives,
    copies,
    device,
    dynamo,
    facts,
    gradients,
    graphs,
    loader,
    modules,
    optimizers,
    other_loaders,
    waits,
    workers,
)


def attach() -> None:
    """Attaches every hook once; the run says what cannot attach."""
    layers = _layers_if_asked()
    changes = _frameworks.changes_if_asked(__name__)
    _guard.attach_once(
        "torch",
        ("torch", _register),
        ("dynamo", dynamo.hide_from_dynamo),
        ("Module.__call__", modules.attach),
        ("backward", gradients.attach),
        ("Optimizer", optimizers.attach),
        ("update", optimizers.attach_around),
        ("torch.save", checkpoint.attach),
        ("torch.distributed", collectives.attach),
        ("device", device.attach),
        ("Tensor.to", copies.attach),
        ("Tensor.item", waits.attach),
        ("CUDAGraph", graphs.attach),
        ("DataLoader", loader.attach),
        ("DataLoader workers", workers.attach),
        ("DataLoader.__init__", other_loaders.attach),
        ("laptime.Loader", _own_passes.attach),
        *layers,
        *changes,
    )


def _layers_if_asked() -> tuple[tuple[str, Callable[[], None]], ...]:
    """The hook of a model's modules, which only `laptime run --layers` asks for."""
    if not _sampling.is_asked():
        return ()
    try:
        from . import layers
    except Exception as error:
        _guard.broken("layers", error)
        return ()
    return (("layers", layers.attach),)


def _register() -> None:
    _frameworks.register(
        "torch",
        optimizers=(torch.optim.Optimizer, facts.optimizer_facts),
        models=(torch.nn.Module, facts.model_facts),
        data=(torch.utils.data.DataLoader, facts.loader_facts),
        # A loader has rows or does not know them.
        counts_rows=False,
    )
    _training.end_with_script()
