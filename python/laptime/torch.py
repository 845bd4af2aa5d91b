"""PyTorch without a line of code: hooks that tell the recorder what a training script does.

Attached by the start-up hook when torch is imported, or by `laptime.torch.attach()`. Every replaced
attribute is a plain Python function, which Dynamo understands, and steps aside while Dynamo traces; no
global module hook is used, since those make compiled models compile again. A compiled model keeps its
graphs.
"""

from __future__ import annotations

import atexit
import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.compiler import is_dynamo_compiling

from . import _guard, _loader, _loops, _native, _passes, _plan, _training
from ._native import (
    begin_backward,
    begin_call,
    begin_update,
    begin_zero,
    end_backward,
    end_call,
    end_update,
    end_zero,
    enter,
    enter_update,
    exit,
    leave_update,
    pause_steps,
    see_activity,
)
from ._disguise import disguise
from ._training import here

_CHECKPOINT = _native.stage_id("checkpoint")
_OPTIMIZER = _native.stage_id("optimizer")
_COMMUNICATION = _native.stage_id("communication")
_HOST_TO_DEVICE = _native.stage_id("host_to_device")
# What the recorder wants before a call or an update goes on.
_WANTS_SAMPLES = 2
_NEW_MODEL = 3
_NEW_MODULE = 4
_UNSETTLED = 1

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
    _training.OPTIMIZER_FACTS.append((torch.optim.Optimizer, _loader.optimizer_facts))
    _training.MODEL_FACTS.append((nn.Module, _loader.model_facts))
    _training.DATA_FACTS.append((torch.utils.data.DataLoader, _loader.loader_facts))
    _guard.attach("dynamo", _hide_from_dynamo)
    _guard.attach("Module.__call__", _attach_modules)
    _guard.attach("backward", _attach_backward)
    _guard.attach("Optimizer", _attach_optimizers)
    _guard.attach("update", _attach_around_update)
    _guard.attach("torch.save", _attach_save)
    _guard.attach("torch.distributed", _attach_collectives)
    _guard.attach("Tensor.to", _attach_copies)
    _loader.attach()
    atexit.register(_end_training)


@_guard.safely
def _end_training() -> None:
    here.training.end_fit()
    # What is kept of the script's code must not outlive it: torch's own caches would complain.
    here.training.forget()
    _loops.forget()


# Dynamo.


def _hide_from_dynamo() -> None:
    """Tells Dynamo to run our functions as they are and to go on with what they call."""
    skip = _skip_code()
    for module in (sys.modules[__name__], _guard, _loader, _loops, _passes, _plan, _training):
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


def _begin_module_zero() -> None:
    begin_zero(None)


def _attach_modules() -> None:
    original = nn.Module.__call__
    _guard.replace(nn.Module, "__call__", _make_module_call)
    _show_dynamo(original, nn.Module.__call__)
    _guard.replace(nn.Module, "eval", _make_eval)
    _guard.replace(nn.Module, "zero_grad", _around(_begin_module_zero, end_zero))


def _make_module_call(original: Callable[..., Any]) -> Callable[..., Any]:
    def _wrapped_call_impl(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(self, *args, **kwargs)
        begun = begin_call(self)
        # What the original does, without its frame: a model has many modules.
        if begun is None or (begun is not True and not _look_closer(begun, self, args or kwargs)):
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return self._call_impl(*args, **kwargs)
        try:
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return self._call_impl(*args, **kwargs)
        finally:
            end_call()

    if original is not nn.Module._wrapped_call_impl or not hasattr(
        nn.Module, "_compiled_call_impl"
    ):
        raise TypeError("this torch calls modules in another way")
    # What runs in the original's place reads in a traceback as the original does.
    disguise(_wrapped_call_impl, original, ("_compiled_call_impl", "_call_impl"))
    return _wrapped_call_impl


def _look_closer(wanted: int, module: Any, inputs: Any) -> bool:
    """Tells the recorder what it wants to know of a call; says whether the call has begun as a stage."""
    begun: Any = wanted
    try:
        tracing = _is_tracing()
        if begun == _NEW_MODULE and not tracing:
            here.training.see_module(module, _kind_of(module))
            begun = begin_call(module)
        if begun == _NEW_MODEL and not tracing:
            here.training.see_model(module)
            begun = begin_call(module)
        # While a call is traced, a look at a shape would be part of what is traced.
        if begun == _WANTS_SAMPLES and not tracing:
            _loader.note_sizes(inputs)
    except Exception as error:
        _guard.broken("Module.__call__", error)
    return begun is True or begun == _WANTS_SAMPLES


def _kind_of(module: Any) -> str:
    if isinstance(module, torch.fx.GraphModule) and next(module.parameters(), None) is None:
        # Code that a compiled function runs: it has its weights as inputs.
        return "silent"
    is_loss = isinstance(module, nn.modules.loss._Loss) or "loss" in type(module).__name__.lower()
    return "loss" if is_loss else "model"


def _make_eval(original: Callable[..., Any]) -> Callable[..., Any]:
    def eval(self: Any) -> Any:
        if not is_dynamo_compiling():
            _see_eval(self)
        return original(self)

    return eval


@_guard.safely
def _see_eval(module: Any) -> None:
    here.training.see_eval(module)


# Gradients.


def _attach_backward() -> None:
    # `Tensor.backward` calls this one, so that it is enough.
    _guard.replace(torch.autograd, "backward", _make_backward)


def _make_backward(original: Callable[..., Any]) -> Callable[..., Any]:
    # Named arguments: packing and unpacking them takes longer than all the rest.
    def backward(
        tensors: Any,
        grad_tensors: Any = None,
        retain_graph: Any = None,
        create_graph: Any = False,
        grad_variables: Any = None,
        inputs: Any = None,
    ) -> Any:
        if is_dynamo_compiling():
            return original(
                tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs
            )
        begin_backward(tensors)
        try:
            original(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
        except BaseException as error:
            end_backward()
            _guard.unseen(error)
            raise
        if end_backward():
            _settle_own_step()

    if _defaults(backward) == _defaults(original):
        return backward
    return _around(_begin_unknown_backward, end_backward)(original)


def _begin_unknown_backward() -> None:
    begin_backward(None)


@_guard.safely
def _settle_own_step() -> None:
    # The caller of `backward`: this function stands inside its guard, which stands inside `backward`.
    here.training.settle_own_step(sys._getframe(3), "torch")


def _defaults(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.default) for parameter in parameters]


def _around(
    begin: Callable[[], None], end: Callable[[], None]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function that tells when the original begins and when it ends."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def hooked(*args: Any, **kwargs: Any) -> Any:
            if is_dynamo_compiling():
                return original(*args, **kwargs)
            begin()
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                end()
                _guard.unseen(error)
                raise
            end()
            return result

        return hooked

    return make


def _make_zero_grad(original: Callable[..., Any]) -> Callable[..., Any]:
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(self, *args, **kwargs)
        begin_zero(self)
        try:
            original(self, *args, **kwargs) if args or kwargs else original(self)
        except BaseException as error:
            end_zero()
            _guard.unseen(error)
            raise
        end_zero()

    return zero_grad


# Optimizers.


def _attach_optimizers() -> None:
    # Each class gets its `step` wrapped by torch when the first of its kind is made; ours goes around it.
    _guard.replace(torch.optim.Optimizer, "_patch_step_function", _make_patch_step)
    _guard.replace(torch.optim.Optimizer, "zero_grad", _make_zero_grad)


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
        found = begin_update(self)
        nested = found > _UNSETTLED
        if found == _UNSETTLED:
            _settle_update(self)
            enter_update()
        try:
            result = original(self, *args, **kwargs) if args or kwargs else original(self)
        except BaseException as error:
            if not nested:
                leave_update()
            _guard.unseen(error)
            raise
        if nested:
            return result
        end_update(self)
        return result

    return step


@_guard.safely
def _settle_update(optimizer: Any) -> None:
    # The caller of `step`: this function stands inside its guard, which stands inside `step`.
    here.training.settle_update(optimizer, sys._getframe(3))


def _attach_around_update() -> None:
    """What belongs to an update but is no optimizer's: clipped gradients, schedules, scaled losses."""
    around = _around(_begin_update_part, _end_update_part)
    clip = torch.nn.utils.clip_grad
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        original = getattr(clip, name)
        _guard.replace(clip, name, around)
        if getattr(torch.nn.utils, name, None) is original:
            setattr(torch.nn.utils, name, getattr(clip, name))
    for schedule in (torch.optim.lr_scheduler.LRScheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
        _guard.replace(schedule, "step", around)
    for name in ("step", "unscale_", "update"):
        _guard.replace(torch.amp.GradScaler, name, around)


def _begin_update_part() -> None:
    enter(_OPTIMIZER)


def _end_update_part() -> None:
    exit(_OPTIMIZER)


# Saving, talking to other ranks, copying to a device.


def _attach_save() -> None:
    original = torch.save
    _guard.replace(torch, "save", _around(_begin_save, _end_save))
    if torch.serialization.save is original:
        torch.serialization.save = torch.save


def _begin_save() -> None:
    pause_steps()
    enter(_CHECKPOINT)


def _end_save() -> None:
    exit(_CHECKPOINT)
    see_activity()


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
        enter(_COMMUNICATION)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            exit(_COMMUNICATION)
            _guard.unseen(error)
            raise
        exit(_COMMUNICATION)
        return result

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
        if is_dynamo_compiling():
            return original(self, *args, **kwargs)
        leaves = _begin_copy(self, ("cuda",), kwargs)
        try:
            moved = original(self, *args, **kwargs)
        except BaseException as error:
            _end_copy(leaves, None)
            _guard.unseen(error)
            raise
        _end_copy(leaves, moved)
        return moved

    return cuda


def _make_to(original: Callable[..., Any]) -> Callable[..., Any]:
    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(self, *args, **kwargs)
        leaves = _begin_copy(self, args, kwargs)
        try:
            moved = original(self, *args, **kwargs)
        except BaseException as error:
            _end_copy(leaves, None)
            _guard.unseen(error)
            raise
        _end_copy(leaves, moved)
        return moved

    return to


@_guard.safely
def _begin_copy(tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    leaves = _leaves_host(tensor, args, kwargs)
    if leaves:
        enter(_HOST_TO_DEVICE)
    return leaves


@_guard.safely
def _end_copy(leaves: bool | None, moved: Any) -> None:
    if not leaves:
        return
    exit(_HOST_TO_DEVICE)
    if moved is not None:
        with _loader._unseen():
            _native.count("host_to_device_bytes", moved.nbytes)
        _native.moved_to_device()
