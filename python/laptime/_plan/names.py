"""Names: variables and settings that hold a plan by what they are called."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

from .. import _loops
from . import variables
from .running import Running
from .value import ENDLESS

Found = tuple[int, str]

EPOCH_NAMES = frozenset(
    [
        "epochs",
        "num_epochs",
        "n_epochs",
        "nb_epochs",
        "nb_epoch",
        "max_epochs",
        "total_epochs",
        "num_train_epochs",
        "train_epochs",
        "training_epochs",
    ]
)
STEP_NAMES = frozenset(
    [
        "max_steps",
        "max_iters",
        "max_iterations",
        "num_steps",
        "num_iters",
        "num_iterations",
        "num_train_steps",
        "max_train_steps",
        "total_steps",
        "total_iters",
        "train_steps",
        "training_steps",
        "n_iter",
        "n_iters",
        "n_iterations",
    ]
)
# Objects that hold settings.
HOLDERS = frozenset(
    [
        "args",
        "opt",
        "opts",
        "options",
        "flags",
        "config",
        "conf",
        "cfg",
        "hparams",
        "hp",
        "params",
        "settings",
        "training_args",
        "self",
        "trainer",
    ]
)


def by_name(frame: FrameType | None, names: frozenset[str]) -> Found | None:
    """A variable or a setting with the name of a plan; several that differ are no plan."""
    for _ in range(_loops.MOST_FRAMES):
        if frame is None:
            return None
        if not _loops.is_foreign(frame):
            for scope in _scopes(frame):
                found = list(_named(frame, scope, names))
                if found:
                    return found[0] if len({turns for turns, _ in found}) == 1 else None
        frame = frame.f_back
    return None


def _scopes(frame: FrameType) -> Iterator[dict[str, Any]]:
    """The variables of a frame that may hold the plan, from its own to its module's."""
    code = frame.f_code
    own = {
        name
        for name in (*code.co_varnames, *code.co_freevars, *code.co_cellvars)
        if _may_hold_plan(name)
    }
    if code.co_flags & CO_OPTIMIZED:
        yield variables.own_variables(frame, own)
    yield {name: value for name, value in list(frame.f_globals.items()) if _may_hold_plan(name)}


def _may_hold_plan(name: Any) -> bool:
    lower = name.lower() if type(name) is str else ""
    return lower in EPOCH_NAMES or lower in STEP_NAMES or lower in HOLDERS


def _named(frame: FrameType, scope: dict[str, Any], names: frozenset[str]) -> Iterator[Found]:
    counted = _stored_in_loops(frame)
    plain = [(value, name) for name, value in scope.items() if name.lower() in names]
    plain = [(value, name) for value, name in plain if name not in counted]
    for value, source in plain or _held(scope, names):
        if type(value) is int and 0 < value < ENDLESS:
            yield value, source


def _held(scope: dict[str, Any], names: frozenset[str]) -> Iterator[tuple[Any, str]]:
    for holder, of in scope.items():
        if holder.lower() in HOLDERS:
            yield from _settings(of, holder, names, deeper=True)


def _settings(
    of: Any, source: str, names: frozenset[str], *, deeper: bool
) -> Iterator[tuple[Any, str]]:
    """The settings of these names that an object holds, itself or in a settings object of its own."""
    is_dict = issubclass(type(of), dict)
    own = of if is_dict else variables.own_attributes(of)
    for name in list(own):
        if type(name) is not str:
            continue
        value = variables.item(of, name) if is_dict else variables.attribute(of, name)
        place = f'{source}["{name}"]' if is_dict else f"{source}.{name}"
        if name.lower() in names:
            yield value, place
        elif deeper and name.lower() in HOLDERS and name != "self":
            yield from _settings(value, place, names, deeper=False)


def _stored_in_loops(frame: FrameType) -> set[str]:
    """Variables that the loops around a frame's instruction set: counters, not plans."""
    loops = [loop for loop in _loops.loops_of(frame.f_code) if loop.encloses(frame.f_lasti)]
    if not loops:
        return set()
    running = Running(frame, loops[-1])
    return {
        op.value
        for _, op in running.inside()
        if op.name.startswith("STORE_") and type(op.value) is str
    }
