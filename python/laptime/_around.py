"""Around: the wrapper that most hooks are made of: one call before the original, one after it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from . import _guard

Make = Callable[[Callable[..., Any]], Callable[..., Any]]


def around(
    begin: Callable[[Any, Any], Any],
    end: Callable[[Any], object] | None = None,
    failed: Callable[[Any], object] | None = None,
) -> Make:
    """Makes a function that calls `begin` with the arguments before the original, and `end` after it.

    `end` gets what `begin` gave and is left out when that is `None`; where the original raises, `failed` is called
    in its place, if there is one. A `begin` that fails is recorded, and the original called all the same.
    """
    # Not looked up when they are needed: at exit the globals of a module are `None`.
    broken, hide_frame = _guard.broken, _guard.hide_frame
    done: Any = end
    undone: Any = end if failed is None else failed

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        name = getattr(original, "__qualname__", "")

        def hooked(*args: Any, **kwargs: Any) -> Any:
            begun = None
            try:
                begun = begin(args, kwargs)
            except Exception as error:
                broken(name, error)
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                if begun is not None:
                    undone(begun)
                hide_frame(error)
                raise
            if begun is not None:
                done(begun)
            return result

        return hooked

    return make


def before(note: Callable[[Any, Any], None]) -> Make:
    """Makes a function that calls `note` with the arguments before the original."""
    return around(note)


def after(note: Callable[[Any], object]) -> Make:
    """Makes a function that calls `note` with the positional arguments once the original has returned."""
    return around(_positional, note, _nothing)


def _positional(args: Any, kwargs: Any) -> Any:
    return args


def _nothing(_: Any) -> None:
    pass


_HOOKED = around(_positional)(_nothing).__code__


def caller() -> FrameType | None:
    """The frame that called the hooked function; for what `begin` and `end` call."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not _HOOKED:
        frame = frame.f_back
    return frame.f_back if frame is not None else None


def given(
    name: str, at: int, args: tuple[Any, ...], kwargs: dict[str, Any], otherwise: Any = None
) -> Any:
    """An argument by its name or place."""
    return kwargs.get(name, args[at] if len(args) > at else otherwise)
