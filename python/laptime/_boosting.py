"""Boosting: what the hooks of libraries share that train in rounds: a train function, its rounds, its evaluations."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from . import _frameworks, _guard, _native
from ._around import Make, around, caller
from ._native import enter, exit
from .hooks import Rounds, rounds_of

ROUND = _native.stage_id("round")
_EVALUATE = _native.stage_id("evaluate")


class _Here(threading.local):
    rounds: Rounds | None = None


here = _Here()

Facts = Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]]


def attach(
    library: ModuleType,
    home: str,
    facts: Facts,
    evaluations: tuple[str, ...],
    *more: tuple[str, Callable[[], None]],
) -> None:
    """Hooks a library that has a `train` in its module `home` and a `Booster`; the run says what cannot attach."""
    name = library.__name__

    def attach_train() -> None:
        users = [library, sys.modules.get(f"{name}.sklearn", library)]
        _replace_function(getattr(library, home), users, "train", _make_train(facts))

    def attach_rounds() -> None:
        _guard.replace(library.Booster, "update", rounds_of(lambda: here.rounds))

    def attach_evaluations() -> None:
        for method in evaluations:
            _guard.replace(library.Booster, method, around(_begin_evaluation, exit))

    _guard.attach_once(
        name,
        (name, lambda: _frameworks.register(name)),
        (f"{name}.train", attach_train),
        (f"{name}.Booster.update", attach_rounds),
        (f"{name}.Booster.{evaluations[-1]}", attach_evaluations),
        *more,
    )


def _replace_function(home: ModuleType, users: Iterable[ModuleType], name: str, make: Any) -> None:
    """Replaces a function where it is, and where it was imported to."""
    original = getattr(home, name)
    _guard.replace(home, name, make)
    for user in users:
        if getattr(user, name, None) is original:
            setattr(user, name, getattr(home, name))


def _make_train(facts: Facts) -> Make:
    """A train function whose call is a fit; `facts` says what its arguments say of it."""

    def begin_train(args: Any, kwargs: Any) -> bool | None:
        is_ours = here.rounds is None and _begin(facts, args, kwargs)
        return True if is_ours else None

    return around(begin_train, _end)


@_guard.safely
def _begin(facts: Facts, args: Any, kwargs: Any) -> bool:
    """Begins a fit, unless this is part of a training that is under way."""
    here.rounds = Rounds.of(caller(), ROUND)
    if here.rounds is not None:
        here.rounds.update(**facts(args, kwargs))
    return here.rounds is not None


@_guard.safely
def _end(_: Any) -> None:
    """The fit has ended, or failed."""
    rounds, here.rounds = here.rounds, None
    if rounds is not None:
        rounds.end()


def _begin_evaluation(args: Any, kwargs: Any) -> int | None:
    if here.rounds is None:
        return None
    enter(_EVALUATE)
    return _EVALUATE


def is_wrapped() -> bool:
    """Whether the fit is another framework's, whose wrapper was called and named it."""
    return here.rounds is not None and not here.rounds.is_ours


def plan(name: str, rounds: Any) -> dict[str, Any]:
    """How many rounds there will be, where that is a number."""
    return {"steps": rounds, "plan_source": f"{name}={rounds}"} if isinstance(rounds, int) else {}
