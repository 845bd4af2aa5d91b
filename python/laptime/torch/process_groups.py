"""Process groups: every collective that one issues, whoever asks for it, by the hooks that torch has for that."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling

from .. import _guard, _native, _session
from .._native import begin_rank_wait, end_rank_wait
from .sizes import untracked

# What tells our hooks of a group from others: "laptime" in ASCII.
_HOOK_ID = int.from_bytes(b"laptime", "big")

# How torch describes the group of all ranks.
_DEFAULT = "default_pg"
# How torch begins the description of a group that is a dimension of a mesh.
_MESH = "mesh_"
_FUNCTIONAL = "torch.distributed._functional_collectives"


def have_hooks() -> bool:
    """Whether this torch has hooks for what a process group issues."""
    group = torch.distributed.ProcessGroup
    return hasattr(group, "register_pre_hook") and hasattr(group, "register_post_hook")


def attach() -> None:
    """Hooks every process group: those that are there, and those that will be made."""
    home = torch.distributed.distributed_c10d
    _guard.replace(home, "_register_pg_in_world", _make_register)
    for group in list(home._world.pg_map):
        _watch(group)
    _guard.replace(torch.distributed.Work, "wait", _make_wait)
    # These wait inside torch, where no hook of ours stands.
    _guard.replace(torch.distributed, "_broadcast_coalesced", _make_blocking)
    _guard.replace(home, "monitored_barrier", _make_blocking)
    torch.distributed.monitored_barrier = home.monitored_barrier
    _session.before_end.append(_native.finish_collectives)


def _make_register(original: Callable[..., Any]) -> Callable[..., Any]:
    def _register_pg_in_world(pg: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(pg, *args, **kwargs)
        _watch(pg)
        return result

    return _register_pg_in_world


@_guard.safely
def _watch(group: Any) -> None:
    if group.group_desc == _DEFAULT:
        _native.be_rank(group.rank(), group.size())
    # The group keeps its hooks, so they must not keep the group.
    known = weakref.ref(group)
    hooks = _native.GroupHooks(lambda: _describe(known()), _measure, _operations())
    group.register_pre_hook(_HOOK_ID, hooks.before)
    group.register_post_hook(_HOOK_ID, hooks.after)


def _operations() -> list[str]:
    """The names of torch's operations, each at the index that is its number."""
    names = {
        int(member): name
        for name, member in torch._C._distributed_c10d.HookOpName.__members__.items()
    }
    return [names.get(number, "") for number in range(max(names) + 1)]


def _describe(group: Any) -> tuple[str, str, list[int], str | None, int]:
    """Name, backend, ranks in their order, purpose and the rank of this process in the group."""
    home = torch.distributed.distributed_c10d
    _watch_functional()
    ranks = home._world.pg_group_ranks[group]
    in_order = sorted(ranks, key=ranks.__getitem__)
    backend = home._world.pg_map[group][0]
    return group.group_name, str(backend), in_order, _purpose(group), group.rank()


def _purpose(group: Any) -> str | None:
    said = group.group_desc
    return said.removeprefix(_MESH) if said not in ("", "undefined", _DEFAULT) else None


def _measure(given: list[Any], taken: list[Any]) -> tuple[int, bool]:
    """The bytes of what is given, and whether a device gives or takes it."""
    with untracked():
        on_device = any(not tensor.is_cpu for tensor in (*given[:1], *taken[:1]))
        return sum(tensor.nbytes for tensor in given), on_device


def _make_wait(original: Callable[..., Any]) -> Callable[..., Any]:
    def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(self, *args, **kwargs)
        # Kept here: other threads wait too, and one wait may call another.
        before = begin_rank_wait()
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        finally:
            end_rank_wait(before, self)

    return wait


def _make_blocking(original: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function whose calls are on record as waiting for other ranks."""

    def blocking(*args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(*args, **kwargs)
        before = begin_rank_wait()
        try:
            return original(*args, **kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        finally:
            end_rank_wait(before, None)

    return blocking


@_guard.safely
def _watch_functional() -> None:
    """Waits for what functional collectives return; few scripts import those, and late."""
    functional = sys.modules.get(_FUNCTIONAL)
    if functional is not None:
        _guard.replace(functional.AsyncCollectiveTensor, "trigger_wait", _make_blocking)
