"""Guard: what stands between a hook of ours and the user's program."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

from . import _native

# Hooks that could not attach or were switched off; each is put on record once.
troubles: set[str] = set()


def safely(note: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a note-taking function harmless: it gives `None` instead of raising, and is off from then on."""
    # Such as `sklearn.fit.begin`.
    module = note.__module__.removeprefix("laptime.").strip("_")
    name = f"{module}.{note.__name__.strip('_')}"
    off = False

    @functools.wraps(note)
    def harmless(*args: Any) -> Any:
        nonlocal off
        if off:
            return None
        try:
            return note(*args)
        except Exception as error:
            off = True
            broken(name, error)
            return None

    return harmless


def broken(name: str, error: BaseException) -> None:
    """Puts a hook that does not work on record, with the reason."""
    try:
        if name in troubles:
            return
        troubles.add(name)
        _native.trouble(name, f"{type(error).__name__}: {error}".rstrip(": "))
    except Exception:  # There is nobody left to report to.
        pass


def hide_frame(error: BaseException) -> None:
    """Takes the frame that catches an error out of its traceback; to be raised again with a plain `raise`.

    What the script's own code raises below a hook then reads as it does without the hook.
    """
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def attach(name: str, hook: Callable[[], None]) -> None:
    """Attaches one hook; one that cannot leaves the others alone."""
    try:
        hook()
    except Exception as error:
        broken(name, error)


_attached: set[str] = set()


def attach_once(framework: str, *hooks: tuple[str, Callable[[], None]]) -> None:
    """Attaches the hooks of a framework, each by its name, when this is called first."""
    if framework not in _attached:
        _attached.add(framework)
        for name, hook in hooks:
            attach(name, hook)


def replace(owner: Any, name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
    """Puts a plain function that calls the original in an attribute's place."""
    original = getattr(owner, name)
    if getattr(original, "_laptime", False):
        return
    replacement = functools.wraps(original)(make(original))
    replacement._laptime = True  # type: ignore[attr-defined]
    setattr(owner, name, replacement)


def codes_of(module: ModuleType) -> set[CodeType]:
    """The code of every function of a module, those inside functions and classes too."""
    found: set[CodeType] = set()
    waiting: list[Any] = [
        value
        for value in vars(module).values()
        if getattr(value, "__module__", "") == module.__name__
    ]
    while waiting:
        value = waiting.pop()
        if isinstance(value, type):
            waiting.extend(vars(value).values())
        elif isinstance(value, (staticmethod, classmethod)):
            waiting.append(value.__func__)
        elif isinstance(value, property):
            waiting.append(value.fget)
        elif isinstance(value, FunctionType):
            waiting.append(value.__code__)
            waiting.append(getattr(value, "__wrapped__", None))
        elif isinstance(value, CodeType) and value not in found:
            found.add(value)
            waiting.extend(value.co_consts)
    return found
