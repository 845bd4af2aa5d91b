"""Boosting: what the hooks of libraries share that train in rounds: a train function, its rounds, its evaluations."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from types import FrameType, ModuleType
from typing import Any

from . import _guard, _native
from ._native import enter, exit
from .hooks import Rounds

ROUND = _native.stage_id("round")
_EVALUATE = _native.stage_id("evaluate")


class _Here(threading.local):
    rounds: Rounds | None = None


here = _Here()

Facts = Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]]


def replace_function(home: ModuleType, users: Iterable[ModuleType], name: str, make: Any) -> None:
    """Replaces a function where it is, and where it was imported to."""
    original = getattr(home, name)
    _guard.replace(home, name, make)
    for user in users:
        if getattr(user, name, None) is original:
            setattr(user, name, getattr(home, name))


def make_train(facts: Facts) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A train function whose call is a fit; `facts` says what its arguments say of it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def train(*args: Any, **kwargs: Any) -> Any:
            is_ours = here.rounds is None and begin(facts, args, kwargs, sys._getframe().f_back)
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                _guard.unseen(error)
                raise
            finally:
                if is_ours:
                    end()

        return train

    return make


@_guard.safely
def begin(facts: Facts, args: Any, kwargs: Any, frame: FrameType | None) -> bool:
    """Begins a fit, unless this is part of a training that is under way."""
    here.rounds = Rounds.of(frame, ROUND)
    if here.rounds is not None:
        here.rounds.update(**facts(args, kwargs))
    return here.rounds is not None


@_guard.safely
def end() -> None:
    """The fit has ended, or failed."""
    rounds, here.rounds = here.rounds, None
    if rounds is not None:
        rounds.end()


def make_round(original: Callable[..., Any]) -> Callable[..., Any]:
    """A method that makes one round."""

    def update(self: Any, *args: Any, **kwargs: Any) -> Any:
        rounds = here.rounds
        if rounds is not None:
            _begin_round(rounds)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            if rounds is not None:
                _drop_round(rounds)
            _guard.unseen(error)
            raise
        if rounds is not None:
            _end_round(rounds)
        return result

    return update


@_guard.safely
def _begin_round(rounds: Rounds) -> None:
    rounds.begin_round()


@_guard.safely
def _drop_round(rounds: Rounds) -> None:
    rounds.drop_round()


@_guard.safely
def _end_round(rounds: Rounds) -> None:
    rounds.end_round()


def make_evaluation(original: Callable[..., Any]) -> Callable[..., Any]:
    """A method that evaluates what was trained so far."""

    def evaluate(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_recorded = here.rounds is not None
        if is_recorded:
            enter(_EVALUATE)
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            if is_recorded:
                exit(_EVALUATE)

    return evaluate


def is_wrapped() -> bool:
    """Whether the fit is another framework's, whose wrapper was called and named it."""
    return here.rounds is not None and not here.rounds.is_ours


def given(
    name: str, at: int, args: tuple[Any, ...], kwargs: dict[str, Any], otherwise: Any = None
) -> Any:
    """An argument by its name or place."""
    return kwargs.get(name, args[at] if len(args) > at else otherwise)


def plan(name: str, rounds: Any) -> dict[str, Any]:
    """How many rounds there will be, where that is a number."""
    return {"steps": rounds, "plan_source": f"{name}={rounds}"} if isinstance(rounds, int) else {}
