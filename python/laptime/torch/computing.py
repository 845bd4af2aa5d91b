"""Computing: how a model is computed, for advice: number types, layout, compilers, the optimizer's implementation.

Everything is read once a model or once a fit. The names begin with `torch.`: reports leave those out, and comparisons
show the ones that differ.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

import torch
from torch.nn.modules.conv import _ConvNd as _Convolution
from torch.nn.parameter import is_lazy

from .. import _guard, _native
from . import padding
from .sizes import find_tensor, untracked

# Devices whose autocast can be asked for by name, in the versions of torch that can be asked.
_AUTOCAST = ("cpu", "cuda") if hasattr(torch, "get_autocast_dtype") else ()

# What the newest model that is trained says of itself, before there is a fit to say it of.
_of_model: dict[str, Any] = {}
# That model, and every optimizer: a gradient that none of these uses was computed for nothing.
_newest: list[weakref.ref[Any]] = []
_optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
# Whether gradients were zeroed rather than dropped.
_zeroed: dict[str, Any] = {}


@_guard.safely
def note_model(model: Any, inputs: Any) -> None:
    """A model is called that was not trained before: its layers, its input, and what is on while it computes."""
    with untracked():
        weight = next(model.parameters(), None)
        if weight is None:
            return
        convolutions = [one for one in model.modules() if isinstance(one, _Convolution)]
        facts: dict[str, Any] = {
            "torch.dtype": _plain(weight.dtype),
            "torch.convolutions": len(convolutions),
        }
        kind = weight.device.type
        if kind in _AUTOCAST:
            is_on = torch.is_autocast_enabled(kind)
            facts["torch.autocast"] = _plain(torch.get_autocast_dtype(kind)) if is_on else "off"
        if convolutions:
            facts |= _layout_facts(convolutions, find_tensor(inputs))
    _of_model.clear()
    _of_model.update(facts)
    _newest[:] = [weakref.ref(model)]


@_guard.safely
def note_optimizer(optimizer: Any) -> None:
    """An optimizer is created: the gradients of its parameters are used."""
    _optimizers.add(optimizer)


def _layout_facts(convolutions: list[Any], batch: Any) -> dict[str, Any]:
    """The layout of pictures; other batches have one only."""
    if batch is None or batch.dim() != 4:
        return {}
    # As they are stored: to ask a module for a weight may compute it.
    weights = [one._parameters.get("weight") for one in convolutions]
    known = [batch, *(one for one in weights if one is not None and not is_lazy(one))]
    is_last = any(one.dim() == 4 and _is_channels_last(one) for one in known)
    return {"torch.layout": "channels_last" if is_last else "channels_first"}


def _is_channels_last(tensor: Any) -> bool:
    # With one channel, or a kernel of one point, a tensor is in both layouts.
    is_both = tensor.is_contiguous()
    return not is_both and tensor.is_contiguous(memory_format=torch.channels_last)


def _plain(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


@_guard.safely
def note_zeroed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """`zero_grad` is called with arguments: gradients that are zeroed are added to, where dropped ones are set."""
    to_none = args[0] if args else kwargs.get("set_to_none", True)
    if not to_none and not _zeroed:
        _zeroed["torch.zero_grad"] = "zeros"
        if _native.in_training():
            _native.fit_update(_zeroed)


@_guard.safely
def model_facts(parameters: list[Any]) -> dict[str, Any]:
    """How the model of a fit is computed; torch's settings are those of the first update."""
    facts = {"torch.compiled": "yes" if _compiles() else "no"} | _of_model | _zeroed
    facts |= padding.facts()
    if parameters and parameters[0].is_cuda:
        facts |= _cuda_facts(parameters[0].device)
    return facts


def _cuda_facts(device: Any) -> dict[str, Any]:
    major, minor = torch.cuda.get_device_capability(device)
    return {
        "torch.tf32": _tf32(),
        "torch.cudnn_benchmark": "on" if torch.backends.cudnn.benchmark else "off",
        "torch.capability": f"{major}.{minor}",
    }


def _tf32() -> str | None:
    """Where TF32 is allowed; `None` where torch does not say."""
    try:
        products = torch.get_float32_matmul_precision() != "highest"
        convolutions = torch.backends.cudnn.allow_tf32
    except RuntimeError:
        # The script has set one of them in torch's new way, which the old one refuses to read.
        return None
    kinds = {(True, True): "on", (True, False): "products", (False, True): "convolutions"}
    return kinds.get((products, convolutions), "off")


@_guard.safely
def optimizer_facts(optimizer: Any, parameters: list[Any]) -> dict[str, Any]:
    """How an optimizer of torch's own updates: one by one, together, or in one kernel."""
    group = optimizer.param_groups[0]
    if "foreach" not in group or not parameters:
        return {}
    if group.get("fused"):
        how = "fused"
    elif group["foreach"] or (
        group["foreach"] is None and group.get("fused") is None and parameters[0].is_cuda
    ):
        how = "foreach"
    else:
        how = "one by one"
    facts: dict[str, Any] = {"torch.optimizer": how, "torch.tensors": len(parameters)}
    unused = _unused_gradients()
    if unused:
        facts["torch.unused_gradients"] = f"{unused:.3f}"
    if isinstance(group.get("momentum"), float):
        facts["torch.momentum"] = f"{group['momentum']:g}"
    return facts


def _unused_gradients() -> float:
    """The share of the model's gradients, by elements, that no optimizer uses; after a backward pass."""
    model = _newest[0]() if _newest else None
    if model is None:
        return 0.0
    used = {
        id(one)
        for optimizer in _optimizers
        for group in optimizer.param_groups
        for one in group["params"]
    }
    sizes = [(id(one) in used, one.numel()) for one in model.parameters() if one.grad is not None]
    unused = sum(size for is_used, size in sizes if not is_used)
    return unused / max(1, sum(size for _, size in sizes))


def _compiles() -> bool:
    """Whether Dynamo has compiled anything in this process."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return bool(getattr(dynamo, "counters", {}).get("frames", {}).get("ok"))
