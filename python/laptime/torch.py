"""PyTorch without a line of code: hooks that tell the recorder what a training script does.

Attached by the start-up hook when torch is imported, or by `laptime.torch.attach()`. Every replaced
attribute is a plain Python function, which Dynamo understands, and steps aside while Dynamo traces; no
global module hook is used, since those make compiled models compile again. A compiled model keeps its
graphs.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.compiler import is_dynamo_compiling

from . import _guard, _loader, _loops, _native, _training
from ._training import (
    BACKWARD,
    CHECKPOINT,
    COMMUNICATION,
    EVALUATE,
    HOST_TO_DEVICE,
    OPTIMIZER,
    here,
)

_enter = _native.enter
_exit = _native.exit
_is_grad_enabled = torch.is_grad_enabled
_is_tracing = torch._C._is_tracing

# A tensor of another kind has copies of its own, which its `__torch_function__` sees.
_PLAIN = (torch.Tensor, nn.Parameter)

# Collectives that wait unless they are told not to; `_object` forms call these.
_COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "all_gather_into_tensor",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "send",
)

_attached = False


def attach() -> None:
    """Attaches every hook once; what cannot attach is told in the run."""
    global _attached
    if _attached:
        return
    _attached = True
    _training.Training.count_parameters = staticmethod(_loader.count_parameters)
    _guard.attach("dynamo", _hide_from_dynamo)
    _guard.attach("Module.__call__", _attach_modules)
    _guard.attach("backward", _attach_backward)
    _guard.attach("Optimizer", _attach_optimizers)
    _guard.attach("torch.save", _attach_save)
    _guard.attach("torch.distributed", _attach_collectives)
    _guard.attach("Tensor.to", _attach_copies)
    _loader.attach()
    atexit.register(_end_training)


@_guard.safely
def _end_training() -> None:
    _guard.tell_troubles()
    here.training.end_fit()
    # What is kept of the script's code must not outlive it: torch's own caches would complain.
    here.training.forget()
    _loops.forget()


# Dynamo.


def _hide_from_dynamo() -> None:
    """Tells Dynamo to run our functions as they are and to go on with what they call."""
    skip = _skip_code()
    for module in (sys.modules[__name__], _guard, _loader, _loops, _training):
        for code in _guard.codes_of(module):
            skip(code)


def _skip_code() -> Callable[[Any], None]:
    # From the C module: importing `torch._dynamo` takes seconds, and most scripts never do.
    from torch._C._dynamo import eval_frame

    if hasattr(eval_frame, "skip_code"):
        return eval_frame.skip_code
    action = eval_frame._FrameAction
    strategy = eval_frame._FrameExecStrategy(action.SKIP, action.DEFAULT)
    return lambda code: eval_frame.set_code_exec_strategy(code, strategy)


def _show_dynamo(original: Any, replacement: Any) -> None:
    """Dynamo goes straight to `forward` when a module's call is the one it knows: ours is that one now."""
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        module = sys.modules.get(name)
        if getattr(module, "unpatched_nn_module_call", None) is original:
            module.unpatched_nn_module_call = replacement  # type: ignore[union-attr]


# Modules.


def _attach_modules() -> None:
    original = nn.Module.__call__
    _guard.replace(nn.Module, "__call__", _make_module_call)
    _show_dynamo(original, nn.Module.__call__)
    _guard.replace(nn.Module, "eval", _make_eval)
    _guard.replace(nn.Module, "zero_grad", _make_module_zero_grad)


def _make_module_call(original: Callable[..., Any]) -> Callable[..., Any]:
    def _wrapped_call_impl(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(self, *args, **kwargs)
        training = here.training
        if training.inside:
            # What the original does, without its frame: a model has many modules.
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return self._call_impl(*args, **kwargs)
        stage = _call_stage(training, self, args, kwargs)
        if stage is None:
            return original(self, *args, **kwargs)
        training.inside = 1
        try:
            _enter(stage)
            return original(self, *args, **kwargs)
        finally:
            _exit(stage)
            training.inside = 0
            if stage == EVALUATE:
                _end_evaluation(training)

    if original is not nn.Module._wrapped_call_impl or not hasattr(
        nn.Module, "_compiled_call_impl"
    ):
        raise TypeError("this torch calls modules in another way")
    return _wrapped_call_impl


_is_loss: dict[type, bool] = {}


@_guard.safely
def _call_stage(
    training: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> int | None:
    """The stage of an outermost module call; `None` when it is not the user's call."""
    if training.worker_stage is not None:
        return training.worker_stage
    if _is_tracing():
        # Shapes are part of what is traced then.
        return None
    kind = type(module)
    is_loss = _is_loss.get(kind)
    if is_loss is None:
        if isinstance(module, torch.fx.GraphModule):
            # Code that a compiled function runs has its weights as inputs. Its class dies with it.
            if next(module.parameters(), None) is None:
                return None
            is_loss = False
        else:
            is_loss = isinstance(module, nn.modules.loss._Loss) or "loss" in kind.__name__.lower()
            _is_loss[kind] = is_loss
    samples = 0
    if not training.passes and not is_loss:
        samples = _loader.samples_of(args or kwargs)
    return training.call_stage(module, is_loss, samples, _is_grad_enabled())


@_guard.safely
def _end_evaluation(training: Any) -> None:
    training.end_evaluation()


def _make_eval(original: Callable[..., Any]) -> Callable[..., Any]:
    def eval(self: Any) -> Any:
        if not is_dynamo_compiling():
            _see_eval(self)
        return original(self)

    return eval


@_guard.safely
def _see_eval(module: Any) -> None:
    here.training.see_eval(module)


def _make_module_zero_grad(original: Callable[..., Any]) -> Callable[..., Any]:
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(self, *args, **kwargs)
        training = here.training
        _zeroed(training, None)
        try:
            _enter(OPTIMIZER)
            return original(self, *args, **kwargs)
        finally:
            _exit(OPTIMIZER)
            _zero_ended(training)

    return zero_grad


@_guard.safely
def _zeroed(training: Any, optimizer: Any) -> None:
    training.zeroed(optimizer)


@_guard.safely
def _zero_ended(training: Any) -> None:
    training.zero_ended()


# Backward.


def _attach_backward() -> None:
    # `Tensor.backward` calls this one, so that it is enough.
    _guard.replace(torch.autograd, "backward", _make_backward)


def _make_backward(original: Callable[..., Any]) -> Callable[..., Any]:
    def backward(*args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(*args, **kwargs)
        training = here.training
        _begin_backward(training)
        # Activation checkpointing calls modules again: that is part of the backward pass.
        training.inside += 1
        try:
            _enter(BACKWARD)
            return original(*args, **kwargs)
        finally:
            _exit(BACKWARD)
            training.inside -= 1

    return backward


@_guard.safely
def _begin_backward(training: Any) -> None:
    training.begin_backward()


# Optimizers.


def _attach_optimizers() -> None:
    # Each class gets its `step` wrapped by torch when the first of its kind is made; ours goes around it.
    _guard.replace(torch.optim.Optimizer, "_patch_step_function", _make_patch_step)
    _guard.replace(torch.optim.Optimizer, "zero_grad", _make_optimizer_zero_grad)


def _make_patch_step(original: Callable[..., Any]) -> Callable[..., Any]:
    def _patch_step_function(self: Any) -> Any:
        result = original(self)
        _see_optimizer(self)
        return result

    return _patch_step_function


@_guard.safely
def _see_optimizer(optimizer: Any) -> None:
    _guard.replace(type(optimizer), "step", _make_step)
    here.training.see_birth(optimizer, sys._getframe(2))


def _make_step(original: Callable[..., Any]) -> Callable[..., Any]:
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(self, *args, **kwargs)
        training = here.training
        if training.in_optimizer:
            return original(self, *args, **kwargs)
        _begin_update(training, self)
        training.in_optimizer = True
        try:
            _enter(OPTIMIZER)
            result = original(self, *args, **kwargs)
        finally:
            _exit(OPTIMIZER)
            training.in_optimizer = False
        _end_update(training, self)
        return result

    return step


@_guard.safely
def _begin_update(training: Any, optimizer: Any) -> None:
    # Two up: this function stands inside its guard, which stands inside `step`.
    training.begin_update(optimizer, sys._getframe(3))


@_guard.safely
def _end_update(training: Any, optimizer: Any) -> None:
    training.end_update(optimizer)


def _make_optimizer_zero_grad(original: Callable[..., Any]) -> Callable[..., Any]:
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(self, *args, **kwargs)
        training = here.training
        _zeroed(training, self)
        try:
            _enter(OPTIMIZER)
            return original(self, *args, **kwargs)
        finally:
            _exit(OPTIMIZER)
            _zero_ended(training)

    return zero_grad


# Saving, talking to other ranks, copying to a device.


def _attach_save() -> None:
    original = torch.save
    _guard.replace(torch, "save", _make_save)
    if torch.serialization.save is original:
        torch.serialization.save = torch.save


def _make_save(original: Callable[..., Any]) -> Callable[..., Any]:
    def save(*args: Any, **kwargs: Any) -> Any:
        try:
            _enter(CHECKPOINT)
            return original(*args, **kwargs)
        finally:
            _exit(CHECKPOINT)
            _end_evaluation(here.training)

    return save


def _attach_collectives() -> None:
    distributed = torch.distributed
    if not distributed.is_available():
        return
    home = distributed.distributed_c10d
    for name in _COLLECTIVES:
        original = getattr(home, name, None)
        if original is None:
            continue
        _guard.replace(home, name, _make_collective)
        if getattr(distributed, name, None) is original:
            setattr(distributed, name, getattr(home, name))


def _make_collective(original: Callable[..., Any]) -> Callable[..., Any]:
    def collective(*args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling() or kwargs.get("async_op"):
            return original(*args, **kwargs)
        _count_bytes(args, kwargs)
        try:
            _enter(COMMUNICATION)
            return original(*args, **kwargs)
        finally:
            _exit(COMMUNICATION)

    return collective


@_guard.safely
def _count_bytes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for value in (*args, *kwargs.values()):
        if isinstance(value, torch.Tensor):
            with _loader._unseen():
                _native.count("between_ranks_bytes", value.nbytes)
            return


def _attach_copies() -> None:
    """Copies to a device are watched from the moment there is one; a CPU script never pays for it."""
    if torch.cuda.is_initialized():
        _watch_copies()
    else:
        torch.cuda._lazy_call(_watch_copies)


@_guard.safely
def _watch_copies() -> None:
    allowed = nn.parameter.UninitializedTensorMixin._allowed_methods
    for name, make in (("to", _make_to), ("cuda", _make_cuda)):
        original = getattr(torch.Tensor, name)
        _guard.replace(torch.Tensor, name, make)
        # Torch made this list of its own methods before ours stood in their place.
        if original in allowed:
            allowed.append(getattr(torch.Tensor, name))


@_guard.safely
def _leaves_host(tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether this copy goes from the host to a device; a tensor of a user's own kind is left alone."""
    if type(tensor) not in _PLAIN:
        return False
    with _loader._unseen():
        return not tensor.is_cuda and _goes_to_device(args, kwargs)


def _goes_to_device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    target = args[0] if args else kwargs.get("device", kwargs.get("other"))
    if isinstance(target, torch.Tensor):
        return target.is_cuda
    if isinstance(target, torch.device):
        return target.type == "cuda"
    return isinstance(target, int) or (isinstance(target, str) and target.startswith("cuda"))


def _make_cuda(original: Callable[..., Any]) -> Callable[..., Any]:
    def cuda(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling() or not _leaves_host(self, ("cuda",), kwargs):
            return original(self, *args, **kwargs)
        try:
            _enter(HOST_TO_DEVICE)
            moved = original(self, *args, **kwargs)
        finally:
            _exit(HOST_TO_DEVICE)
        _moved(moved)
        return moved

    return cuda


def _make_to(original: Callable[..., Any]) -> Callable[..., Any]:
    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling() or not _leaves_host(self, args, kwargs):
            return original(self, *args, **kwargs)
        try:
            _enter(HOST_TO_DEVICE)
            moved = original(self, *args, **kwargs)
        finally:
            _exit(HOST_TO_DEVICE)
        _moved(moved)
        return moved

    return to


@_guard.safely
def _moved(moved: Any) -> None:
    with _loader._unseen():
        _native.count("host_to_device_bytes", moved.nbytes)
    here.training.moved_to_device()
