"""Facts: what torch's models, optimizers and loaders say of a fit."""

from __future__ import annotations

from typing import Any

import torch

from . import computing
from .sizes import untracked


def model_facts(model: Any) -> dict[str, Any]:
    """What a model says of a fit whose script updates it itself."""
    with untracked():
        return _facts_of(list(model.parameters()))


def _facts_of(parameters: list[Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {"framework": "torch", "framework_version": torch.__version__}
    if parameters:
        facts["device"] = str(parameters[0].device)
        facts["parameters"] = sum(one.numel() for one in parameters)
    return facts | (computing.model_facts(parameters) or {})


def optimizer_facts(optimizer: Any) -> dict[str, Any]:
    """What an optimizer says of a fit."""
    with untracked():
        groups = optimizer.param_groups
        parameters = [one for group in groups for one in group["params"]]
        facts = _facts_of(parameters) | (computing.optimizer_facts(optimizer, parameters) or {})
    facts["optimizer"] = type(optimizer).__name__
    rate = optimizer.param_groups[0].get("lr")
    if isinstance(rate, float):
        facts["lr"] = f"{rate:g}"
    return facts


def loader_facts(loader: Any) -> dict[str, Any]:
    """What a loader says of a fit; nothing is called that changes it."""
    facts: dict[str, Any] = {"workers": loader.num_workers}
    try:
        facts["rows"] = len(loader.dataset)
        # `len(loader)` of an iterable dataset makes the loader count and warn.
        if not hasattr(loader.dataset, "__iter__") or hasattr(loader.dataset, "__getitem__"):
            facts["steps_per_epoch"] = len(loader)
    except Exception:  # A length is the user's code, and not every dataset has one.
        pass
    batch = loader.batch_size or getattr(loader.batch_sampler, "batch_size", None)
    if isinstance(batch, int):
        facts["batch"] = batch
    return facts | _ahead(loader)


def _ahead(loader: Any) -> dict[str, Any]:
    """How workers load ahead, and the threads beside them; named by `torch.`, as reports leave them out."""
    facts: dict[str, Any] = {"torch.threads": torch.get_num_threads()}
    if loader.num_workers > 0:
        facts["torch.prefetch_factor"] = loader.prefetch_factor or 2
        facts["torch.persistent_workers"] = "yes" if loader.persistent_workers else "no"
    return facts
