"""Compute: how a model is computed: precision, layout, compiled or not, and what the GPU's libraries may do.

A change is made when a model is about to be trained for the first time, in its outermost call. What goes around
the call stands where `Module.compile` puts its own: type, state and identity of the model stay, and copies of it
are made without.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from ... import _changes, _guard, _training
from .randomness import Randomness

NAMES = ("autocast", "channels_last", "compile", "tf32", "cudnn_benchmark")

_NO_GPU = "the model is not on a GPU"
_FAILED = "the model failed with it"

_Call = Callable[..., Any]


def attach() -> None:
    """Changes models when they are first trained."""
    _training.before_model_trains.append(_change)


@_guard.safely
def _change(model: Any) -> None:
    parameter = next(model.parameters(), None)
    if parameter is None:
        return
    on_gpu = parameter.device.type == "cuda"
    if _changes.is_on("tf32"):
        _allow_tf32(on_gpu)
    if _changes.is_on("cudnn_benchmark"):
        _let_cudnn_choose(on_gpu)
    _change_call(model, parameter)


# What the GPU's libraries may do.


def _allow_tf32(on_gpu: bool) -> None:
    before = torch.get_float32_matmul_precision()
    if not on_gpu:
        _changes.refused("tf32", _NO_GPU)
    elif torch.version.cuda is None or torch.cuda.get_device_capability()[0] < 8:
        _changes.refused("tf32", "the GPU has no TF32")
    elif before != "highest" and torch.backends.cudnn.allow_tf32:
        _changes.refused("tf32", "the script does so already")
    else:
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.allow_tf32 = True
        _changes.applied("tf32", before, "high")


def _let_cudnn_choose(on_gpu: bool) -> None:
    cudnn = torch.backends.cudnn
    if not on_gpu:
        _changes.refused("cudnn_benchmark", _NO_GPU)
    elif cudnn.deterministic or torch.are_deterministic_algorithms_enabled():
        _changes.refused("cudnn_benchmark", "the script wants deterministic algorithms")
    elif cudnn.benchmark:
        _changes.refused("cudnn_benchmark", "the script does so already")
    else:
        cudnn.benchmark = True
        _changes.applied("cudnn_benchmark", False, True)


# What goes around the model's call.


class Changed:
    """The call of a model, changed; one that fails is made again as the script made it, and all after it."""

    __slots__ = ("_arounds", "_call", "_given", "_is_proven", "_model", "names")

    def __init__(self, model: Any, given: _Call | None) -> None:
        # Weakly: the model holds this.
        self._model = weakref.ref(model)
        # What the script's own `Module.compile` made, if anything, and what is called now; else the model's own.
        self._given = given
        self._call = model._compiled_call_impl
        self._arounds: list[Callable[[_Call, tuple[Any, ...], dict[str, Any]], Any]] = []
        self._is_proven = False
        self.names: list[str] = []

    def add(self, name: str, around: Callable[..., Any] | None = None) -> None:
        """Adds a change, and what is to be done around the call."""
        self.names.append(name)
        if around is not None:
            self._arounds.append(around)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        model: Any = self._model()
        before = None if self._is_proven else Randomness(devices=True)
        call = self._call or model._call_impl
        for around in self._arounds:
            call = _Bound(around, call)
        try:
            result = call(*args, **kwargs)
            self._is_proven = True
            return result
        except Exception as error:
            self._undo(model, error)
        if before is not None:
            before.restore()
        return (self._given or model._call_impl)(*args, **kwargs)

    def _undo(self, model: Any, error: Exception) -> None:
        model.__dict__["_compiled_call_impl"] = self._given
        if "channels_last" in self.names:
            model.to(memory_format=torch.contiguous_format)
        for name in self.names:
            _changes.withdrawn(name, f"{_FAILED}: {_changes.because_of(error)}")

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy of the model has none.
        return type(None), ()


class _Bound:
    """A call with what is to be done around it."""

    __slots__ = ("_around", "_call")

    def __init__(self, around: Callable[..., Any], call: _Call) -> None:
        self._around = around
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._around(self._call, args, kwargs)


def _change_call(model: Any, parameter: Any) -> None:
    given = model._compiled_call_impl
    if _changes.is_on("compile"):
        _compile(model, parameter.device.type == "cuda")
    changed = Changed(model, given)
    if model._compiled_call_impl is not given:
        changed.add("compile")
    if _changes.is_on("channels_last") and _lay_out(model):
        changed.add("channels_last", _with_layout)
    around = _autocast(parameter) if _changes.asked("autocast") else None
    if around is not None:
        changed.add("autocast", around)
    if changed.names:
        # Not by assignment: a compiled model hands that on to the one it was made of.
        model.__dict__["_compiled_call_impl"] = changed


def _compile(model: Any, on_gpu: bool) -> None:
    if model._compiled_call_impl is not None or hasattr(model, "_orig_mod"):
        return _changes.refused("compile", "the script does so already")
    # Random numbers that a compiled model draws on the CPU, in its own way, would move the order of the samples.
    options = {} if on_gpu else {"options": {"fallback_random": True}}
    try:
        model.compile(**options)
    except Exception as error:
        return _changes.refused("compile", _changes.because_of(error))
    _changes.applied("compile", 0, 1)


def _lay_out(model: Any) -> bool:
    """Gives the weights of convolutions the layout; says whether there are any."""
    weights = [one for one in model.parameters() if one.dim() == 4]
    if not weights:
        _changes.refused("channels_last", "the model has no convolutions over images")
    elif isinstance(model, DistributedDataParallel):
        _changes.refused("channels_last", "the model keeps the layout of its gradients")
    elif all(one.is_contiguous(memory_format=torch.channels_last) for one in weights):
        _changes.refused("channels_last", "the script does so already")
    else:
        model.to(memory_format=torch.channels_last)
        _changes.applied("channels_last", 0, 1)
        return True
    return False


def _with_layout(call: _Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    named = {name: _in_layout(value) for name, value in kwargs.items()}
    return call(*(_in_layout(value) for value in args), **named)


def _in_layout(value: Any) -> Any:
    if type(value) is torch.Tensor and value.dim() == 4 and value.is_floating_point():
        return value.contiguous(memory_format=torch.channels_last)
    return value


def _autocast(parameter: Any) -> Callable[..., Any] | None:
    because = _why_no_autocast(parameter)
    if because:
        _changes.refused("autocast", because)
        return None

    def around(call: _Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            result = call(*args, **kwargs)
        # The loss is computed as it was.
        return _in_float32(result, 0)

    _changes.applied("autocast", str(parameter.dtype), "bf16")
    return around


def _why_no_autocast(parameter: Any) -> str | None:
    if _changes.asked("autocast") == "fp16":
        return "fp16 needs a loss that is scaled; bf16 does not"
    if _changes.asked("autocast") != "bf16":
        return "only bf16 is known"
    if parameter.device.type != "cuda":
        # A virtual machine may say that its CPU has bf16 and kill whoever uses it.
        return _NO_GPU
    if torch.is_autocast_enabled("cuda"):
        return "the script does so already"
    if parameter.dtype is not torch.float32:
        return "the model is not in float32"
    return None if torch.cuda.is_bf16_supported() else "the GPU has no bf16"


def _in_float32(value: Any, depth: int) -> Any:
    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype is torch.bfloat16 else value
    if isinstance(value, (tuple, list)) and depth < 4:
        parts = [_in_float32(part, depth + 1) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict) and depth < 4:
        for name, part in value.items():
            value[name] = _in_float32(part, depth + 1)
    return value
