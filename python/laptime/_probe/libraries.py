"""Libraries that open files by themselves, below Python: each by the function that is given the path.

Attached when one of them is imported; of frameworks that are recorded, by the `probe` in their folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from .. import _probe
from . import hooked, trackers
from .exempt import Kind
from .files import given, with_argument
from .hooked import Planned
from .overlay import Overlay


def attach() -> None:
    """Attaches to those that are imported by now; each once."""
    trackers.attach()
    for package, attach_to in _KNOWN.items():
        module = sys.modules.get(package)
        if module is not None:
            try:
                attach_to(module)
            except Exception as error:
                hooked.failed(package, error)


# A plan that leads to another path.
Lead = Callable[[tuple[Any, ...], dict[str, Any]], Planned | None]

# Plans, for a function that is given a path as the argument of this name and place.


def writes(name: str, at: int) -> Lead:
    """The function writes a new file."""
    return _plan(name, at, lambda path: redirected(path, keep=False))


def reads(name: str, at: int) -> Lead:
    """The function reads a file, which the script may have written."""
    return _plan(name, at, read_from)


def fills(name: str, at: int) -> Lead:
    """The function writes files into a folder."""
    return _plan(name, at, folder_for)


def lists(name: str, at: int) -> Lead:
    """The function writes a file that must stay where it is."""
    return _plan(name, at, _list_only)


def _plan(name: str, at: int, lead: Callable[[Any], str | None]) -> Lead:
    def plan(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | None:
        path = given(name, at, args, kwargs)
        if not isinstance(path, (str, bytes, os.PathLike)) or _is_remote(path):
            return None
        instead = lead(path)
        return None if instead is None else with_argument(name, at, args, kwargs, instead)

    return plan


def _is_remote(path: Any) -> bool:
    return "://" in os.fsdecode(path)


def found(path: Any, follow: bool = True) -> tuple[Overlay, str] | None:
    """The overlay, and what it calls this path; `None` where that is no path of a file."""
    if _probe.overlay is None or _is_remote(path):
        return None
    key = _probe.overlay.key(path, follow=follow)
    return None if key is None else (_probe.overlay, key)


def kept(path: Any, follow: bool = True) -> tuple[Overlay, str] | None:
    """The same for what is not to be changed in its own place."""
    place = found(path, follow)
    return place if place and place[0].kind(place[1]) is Kind.REDIRECTED else None


def redirected(path: Any, keep: bool) -> str | None:
    """The file that is written in the place of this one; `None` where it is this one, which is listed then."""
    place = found(path)
    if place is None:
        return None
    overlay, key = place
    kind = overlay.kind(key)
    if kind is Kind.LISTED:
        overlay.list_opened(key)
    return overlay.writable(key, keep) if kind is Kind.REDIRECTED else None


def read_from(path: Any) -> str | None:
    """The file that is read in the place of this one, if it is another one."""
    return None if _probe.overlay is None else _probe.overlay.read_instead(path)


def folder_for(path: Any) -> str | None:
    """The folder in the scratch folder that is filled in the place of this one."""
    place = kept(path)
    if place is None:
        return None
    mirror = place[0].files + place[1]
    os.makedirs(mirror, exist_ok=True)
    return mirror


def _list_only(path: Any) -> None:
    place = found(path)
    # A database in memory has no path.
    if place is not None and os.fsdecode(path) not in ("", ":memory:"):
        place[0].list_opened(place[1])


# The libraries.


def plan_open(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | None:
    """`__init__(self, name, mode)` of a file that a library opens."""
    path, mode = given("name", 1, args, kwargs), given("mode", 2, args, kwargs, "r")
    if not isinstance(path, (str, bytes, os.PathLike)) or _is_remote(path):
        return None
    if mode in ("r", "rb"):
        instead = read_from(path)
    elif mode in ("w-", "x") and os.path.exists(read_from(path) or os.fsdecode(path)):
        return None
    else:
        instead = redirected(path, keep=mode[0] in "ar")
    return None if instead is None else with_argument("name", 1, args, kwargs, instead)


def method(kind: type, name: str, plan: hooked.Plan) -> None:
    """Puts a plan before a method; the function that takes its place is bound like the original."""
    original = getattr(kind, name)
    if getattr(original, "_laptime_probe", False):
        return
    made = hooked.Hooked(original, plan)

    def bound(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return made(self, *args, **kwargs)
        except BaseException as error:
            hooked.hide_frames(error)
            raise

    bound.__dict__.update(getattr(original, "__dict__", {}))
    for each in ("__name__", "__qualname__", "__doc__", "__module__", "__wrapped__"):
        setattr(bound, each, getattr(original, each, original))
    bound._laptime_probe = True  # type: ignore[attr-defined]
    setattr(kind, name, bound)


def _attach_safetensors(module: Any) -> None:
    hooked.replace(module, "serialize_file", writes("filename", 1))
    hooked.replace(module, "safe_open", reads("filename", 0))


_KNOWN: dict[str, Callable[[Any], None]] = {
    "h5py": lambda module: method(module.File, "__init__", plan_open),
    "safetensors": _attach_safetensors,
    "sqlite3": lambda module: hooked.replace(module, "connect", lists("database", 0)),
    "tensorboard.summary.writer.event_file_writer": lambda module: method(
        module.EventFileWriter, "__init__", fills("logdir", 1)
    ),
    "xgboost": lambda module: method(module.Booster, "save_model", writes("fname", 1)),
    "lightgbm": lambda module: method(module.Booster, "save_model", writes("filename", 1)),
}
