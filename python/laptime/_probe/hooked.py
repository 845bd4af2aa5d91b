"""Hooked: a function in the place of one that touches files."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any

# What is called instead of the original: its arguments, changed; `None` leaves them as they are.
Planned = tuple[tuple[Any, ...], dict[str, Any]]
Plan = Callable[[tuple[Any, ...], dict[str, Any]], "Planned | Done | Fails | None"]
_FOLDER = os.path.dirname(__file__)


class _Here(threading.local):
    # Whether a call of ours is under way on this thread, whose own files are no concern of the script's.
    inside = False


here = _Here()
_failures: str | None = None
_reported: set[str] = set()


class Done:
    """A plan that did everything itself; the original is not called."""

    __slots__ = ("value",)

    def __init__(self, value: Any = None) -> None:
        self.value = value


class Fails:
    """A plan that ends in an error of the script's own."""

    __slots__ = ("error",)

    def __init__(self, number: int, *paths: Any) -> None:
        words = (paths[0], None, paths[1]) if len(paths) > 1 else paths
        self.error = OSError(number, os.strerror(number), *words)


class Hooked:
    """Calls the original with what the plan makes of the arguments.

    An object and no function, since a class that has `open` or `os.unlink` as an attribute must not bind it.
    """

    __name__: str

    def __init__(self, original: Callable[..., Any], plan: Plan) -> None:
        self._original = original
        self._plan = plan
        functools.update_wrapper(self, original, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        planned = None
        try:
            if not here.inside:
                planned = planned_by(self._plan, args, kwargs)
            if type(planned) is Done:
                return planned.value
            if type(planned) is Fails:
                raise planned.error
            used, named = (args, kwargs) if planned is None else planned
            return self._original(*used, **named)
        except BaseException as error:
            # The script sees neither frames nor paths of ours.
            hide_frames(error)
            if type(planned) is tuple and isinstance(error, OSError):
                restore_names(error, args)
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_original"], name)

    def __reduce__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return repr(self._original)


def planned_by(plan: Callable[..., Any], *arguments: Any) -> Any:
    """What a plan gives, with the files that it touches itself left alone; `None` where it fails."""
    here.inside = True
    try:
        return plan(*arguments)
    except Exception as error:
        failed(getattr(plan, "__name__", "plan").strip("_"), error)
        return None
    except BaseException as error:
        # An interrupt that comes just now was meant for the script.
        error.__traceback__ = None
        raise
    finally:
        here.inside = False


def hide_frames(error: BaseException) -> None:
    """Takes our frames off the outer end of a traceback; to be raised again with a plain `raise`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_FOLDER):
        trace = trace.tb_next
    error.__traceback__ = trace


def restore_names(error: OSError, args: tuple[Any, ...]) -> None:
    """Lets an error name the file that the script asked for."""
    if error.filename is not None and args:
        error.filename = args[0]
    if error.filename2 is not None and len(args) > 1:
        error.filename2 = args[1]


def report_to(path: str) -> None:
    """Where failures of ours are written."""
    global _failures
    _failures = path


def failed(name: str, error: BaseException) -> None:
    """Puts something of ours that failed on record, once a process."""
    line = f"{name}: {type(error).__name__}: {error}".replace("\n", " ")
    if _failures is None or line in _reported:
        return
    _reported.add(line)
    before, here.inside = here.inside, True
    try:
        append(_failures, line)
    except Exception:  # There is nobody left to report to.
        pass
    finally:
        here.inside = before


def append(path: str, line: str) -> None:
    """Appends a line with one write, so that those of several processes do not mix."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(file, os.fsencode(line + "\n"))
    finally:
        os.close(file)


def replace(owner: Any, name: str, plan: Plan) -> None:
    """Puts a hooked function in an attribute's place, and into the sets in which `os` says what each can do."""
    original = getattr(owner, name)
    if isinstance(original, Hooked):
        return
    made = Hooked(original, plan)
    # Where it is found by its name, as when it is pickled: `posix.remove` is not hooked, `os.remove` is.
    made.__module__, made.__name__ = owner.__name__, name
    for known in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if isinstance(known, set) and original in known:
            known.add(made)
    setattr(owner, name, made)
