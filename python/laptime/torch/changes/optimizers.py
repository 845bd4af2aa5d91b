"""Optimizers: fused or grouped updates, where an optimizer of torch can have them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ... import _changes, _guard

# The argument of an optimizer, by the name of the change.
_ARGUMENTS = {"fused_optimizer": "fused", "foreach_optimizer": "foreach"}
NAMES = tuple(_ARGUMENTS)


def attach() -> None:
    """Changes the optimizers of torch as they are made."""
    wanted = {_ARGUMENTS[name]: name for name in NAMES if _changes.is_on(name)}
    if not wanted:
        return
    for kind in vars(torch.optim).values():
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer):
            _attach_to(kind, wanted)


def _attach_to(kind: Any, wanted: dict[str, str]) -> None:
    if "__init__" in vars(kind) and kind is not torch.optim.Optimizer:
        _changes.wrap(kind, "__init__", lambda original: _make_init(original, kind, wanted))


def _make_init(
    original: Callable[..., None], kind: type, wanted: dict[str, str]
) -> Callable[..., None]:
    signature = inspect.signature(original)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if type(self) is not kind:
            # One that is made of another; what it does with these arguments is not known.
            if not type(self).__module__.startswith("torch.optim"):
                _refuse(wanted, "the optimizer is one of the script's own")
            return original(self, *args, **kwargs)
        args, kwargs = _kept_parameters(args, kwargs)
        given = _given(signature, (self, *args), kwargs)
        changed = _change(given, wanted)
        if changed:
            try:
                original(**(given | changed))
                return _record(self, changed, wanted, given)
            except Exception as error:
                _refuse(wanted, _changes.because_of(error))
        original(self, *args, **kwargs)

    return __init__


def _refuse(wanted: dict[str, str], because: str) -> None:
    for name in wanted.values():
        _changes.refused(name, because)


def _kept_parameters(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The parameters as a list where they come as an iterator, which can be gone through only once."""
    if args and isinstance(args[0], Iterator):
        return (list(args[0]), *args[1:]), kwargs
    if isinstance(kwargs.get("params"), Iterator):
        return args, kwargs | {"params": list(kwargs["params"])}
    return args, kwargs


def _given(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments of a call by name; none of one that is wrong, which is not for us to report."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return {}
    bound.apply_defaults()
    return bound.arguments


@_guard.safely
def _change(given: dict[str, Any], wanted: dict[str, str]) -> dict[str, bool | None]:
    """The arguments to change; those that cannot be are refused."""
    changed: dict[str, bool | None] = {}
    for argument, name in wanted.items() if given else ():
        because = _why_not(argument, given)
        if because:
            _changes.refused(name, because)
        else:
            changed[argument] = True
    is_fused = changed.get("fused") or given.get("fused")
    if is_fused and changed.pop("foreach", False):
        _changes.refused(wanted["foreach"], "a fused one is not made of parts")
    # The two exclude each other.
    return changed | ({"foreach": None} if changed.get("fused") else {})


def _why_not(argument: str, given: dict[str, Any]) -> str | None:
    if argument not in given:
        return f"{type(given['self']).__name__} has no such form"
    if given[argument]:
        return "the script does so already"
    is_default = argument == "foreach" and given["foreach"] is None
    if is_default and _are_on_gpu(given["params"]):
        return "torch does so by itself on a GPU"
    return None


def _are_on_gpu(params: Any) -> bool:
    """Whether all parameters are known to be; they come as such, with names, or in groups."""
    groups = [one["params"] if isinstance(one, dict) else one for one in params]
    tensors: list[Any] = []
    for group in groups:
        tensors += group if isinstance(group, list) else [group]
    tensors = [one[-1] if isinstance(one, tuple) else one for one in tensors]
    return all(isinstance(one, torch.Tensor) and one.is_cuda for one in tensors)


@_guard.safely
def _record(
    optimizer: Any,
    changed: dict[str, bool | None],
    wanted: dict[str, str],
    given: dict[str, Any],
) -> None:
    before = {argument: given[argument] for argument in changed}
    for argument, name in wanted.items():
        if changed.get(argument):
            _changes.applied(name, before[argument], True)
            optimizer.register_step_pre_hook(_checked_once(name, argument, before))


def _checked_once(name: str, argument: str, before: dict[str, Any]) -> Callable[..., None]:
    """What an optimizer updates is known at its first step: sparse gradients, or the groups of a checkpoint."""
    is_checked = False

    @_guard.safely
    def check(optimizer: Any, *_: Any) -> None:
        nonlocal is_checked
        if is_checked:
            return
        is_checked = True
        groups = optimizer.param_groups
        grads = [one.grad for group in groups for one in group["params"]]
        if any(grad is not None and grad.is_sparse for grad in grads):
            for group in groups:
                group.update(before)
            _changes.withdrawn(name, "gradients are sparse")
        elif not all(group.get(argument) for group in groups):
            _changes.withdrawn(name, "the checkpoint that was loaded says otherwise")

    return check
