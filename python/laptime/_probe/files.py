"""Files: `open` and the functions of `os` and `shutil` that change files, each led to the overlay."""

from __future__ import annotations

import builtins
import errno
import io
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any, Self

from . import hooked
from .exempt import Kind
from .hooked import Done, Fails, Planned
from .overlay import Overlay

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_O_TMPFILE = getattr(os, "O_TMPFILE", 0)

# Functions that look at a file, and whether they follow a link at its end.
_LOOKS = {
    "stat": True,
    "lstat": False,
    "access": True,
    "readlink": False,
    "listxattr": True,
    "getxattr": True,
}
# Functions that change what is about a file and not in it; of a file that was there before they change nothing.
_TOUCHES = ("chmod", "chown", "utime", "setxattr", "removexattr")


def attach(overlay: Overlay) -> None:
    """Puts the functions in their places."""
    opened = Opened(overlay)
    hooked.replace(builtins, "open", opened.plan_open)
    io.open = builtins.open
    hooked.replace(os, "open", opened.plan_os_open)
    changed = Changed(overlay)
    for name, follow in _LOOKS.items():
        hooked.replace(os, name, _look(overlay, follow))
    for name in _TOUCHES:
        hooked.replace(os, name, changed.plan_touch)
    for name in ("remove", "unlink"):
        hooked.replace(os, name, changed.plan_remove)
    for name in ("rename", "replace"):
        hooked.replace(os, name, changed.plan_move)
    hooked.replace(os, "truncate", changed.plan_truncate)
    hooked.replace(os, "mkdir", changed.plan_make_folder)
    hooked.replace(os, "rmdir", changed.plan_remove_folder)
    hooked.replace(os, "symlink", changed.plan_link)
    hooked.replace(os, "link", changed.plan_hard_link)
    hooked.replace(os, "listdir", changed.plan_list)
    hooked.replace(os, "scandir", changed.plan_scan)
    hooked.replace(shutil, "rmtree", changed.plan_remove_tree)


def given(
    name: str, at: int, args: tuple[Any, ...], kwargs: dict[str, Any], otherwise: Any = None
) -> Any:
    """An argument by its name or place."""
    return kwargs.get(name, args[at] if len(args) > at else otherwise)


def with_argument(
    name: str, at: int, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any
) -> Planned:
    """The arguments with another one in this place."""
    if len(args) > at:
        return (*args[:at], value, *args[at + 1 :]), kwargs
    return args, kwargs | {name: value}


def _of_kind(asked: Any, path: str) -> str | bytes:
    """A path as text or as bytes, like the one that the script gave."""
    return os.fsencode(path) if isinstance(asked, bytes) else path


class Opened:
    """Files that are opened."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self._os_open = os.open

    def plan_open(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | None:
        """`open`: by an opener of ours, so that the file keeps the name that the script gave it."""
        path = given("file", 0, args, kwargs)
        mode = given("mode", 1, args, kwargs, "r")
        if isinstance(path, int) or given("opener", 7, args, kwargs) is not None:
            return None
        writes = any(letter in mode for letter in "wax+")
        flags = _flags(mode) if writes else os.O_RDONLY
        found = self._found(path, None, flags)
        if found is None:
            return None
        return with_argument("opener", 7, args, kwargs, self._opener(found))

    def _opener(self, found: str) -> Callable[[str, int], int]:
        os_open = self._os_open

        def opener(path: str, flags: int) -> int:
            try:
                return os_open(found, flags, 0o666)
            except OSError as error:
                error.__traceback__, error.filename = None, path
                refused = error
            raise refused

        return opener

    def plan_os_open(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | None:
        """`os.open`"""
        path, flags = given("path", 0, args, kwargs), given("flags", 1, args, kwargs)
        found = self._found(path, kwargs.get("dir_fd"), flags)
        if found is None:
            return None
        rest = {name: value for name, value in kwargs.items() if name != "dir_fd"}
        return with_argument("path", 0, args, rest, _of_kind(path, found))

    def _found(self, path: Any, dir_fd: int | None, flags: int) -> str | None:
        """The file that is opened instead of the one that is asked for, if it is another one."""
        overlay = self._overlay
        if not flags & _WRITES or (_O_TMPFILE and flags & _O_TMPFILE == _O_TMPFILE):
            return overlay.read_instead(path, dir_fd)
        key = overlay.key(path, dir_fd)
        return None if key is None else self._for_writing(key, flags)

    def _for_writing(self, key: str, flags: int) -> str | None:
        kind = self._overlay.kind(key)
        try:
            if kind is Kind.REDIRECTED:
                return self._redirected(key, flags)
        except Exception as error:
            # It is written where it is, and the user is told.
            hooked.failed("open", error)
            kind = Kind.LISTED
        if kind is Kind.LISTED:
            if not os.path.lexists(key) and os.path.isdir(os.path.dirname(key)):
                self._overlay.made(key)
            self._overlay.list_opened(key)
        return None

    def _redirected(self, key: str, flags: int) -> str | None:
        found = self._overlay.visible(key)
        is_there = os.path.exists(found)
        if (flags & os.O_EXCL and is_there) or (not flags & os.O_CREAT and not is_there):
            # The call fails, there as here.
            return found if found != key else None
        return self._overlay.writable(key, keep=not flags & os.O_TRUNC)


def _flags(mode: str) -> int:
    """What `open` asks of the system in a mode that writes."""
    if "+" in mode and "r" in mode:
        return os.O_RDWR
    kind = os.O_APPEND if "a" in mode else os.O_EXCL if "x" in mode else os.O_TRUNC
    return os.O_WRONLY | os.O_CREAT | kind


def _look(overlay: Overlay, follow: bool) -> hooked.Plan:
    """A function that looks at a file sees what the script wrote."""

    def look(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | None:
        path = given("path", 0, args, kwargs)
        follows = follow and kwargs.get("follow_symlinks", True)
        found = overlay.looked_at(path, kwargs.get("dir_fd"), follows)
        if found is None:
            return None
        # What stands for a renamed file is none of the script's links.
        is_alias = os.path.islink(found) and not follows
        used = os.path.realpath(found) if is_alias else found
        rest = {name: value for name, value in kwargs.items() if name != "dir_fd"}
        return with_argument("path", 0, args, rest, _of_kind(path, used))

    return look


class Changed:
    """Files and folders that are renamed, removed, made and listed."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay

    def plan_touch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | Done | None:
        """`os.chmod` and the like."""
        path = given("path", 0, args, kwargs)
        key = self._changed(path, kwargs.get("dir_fd"), kwargs.get("follow_symlinks", True))
        if key is None or self._overlay.is_made(key):
            return None
        found = self._overlay.visible(key)
        if found == key:
            return Done() if os.path.lexists(key) else None
        rest = {name: value for name, value in kwargs.items() if name != "dir_fd"}
        return with_argument("path", 0, args, rest, _of_kind(path, found))

    def plan_truncate(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | None:
        """`os.truncate`"""
        path = given("path", 0, args, kwargs)
        key = self._changed(path)
        if key is None or not os.path.exists(self._overlay.visible(key)):
            return None
        mirror = self._overlay.writable(key, keep=True)
        return None if mirror is None else with_argument("path", 0, args, kwargs, mirror)

    def plan_remove(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | Done | None:
        """`os.remove`"""
        path = given("path", 0, args, kwargs)
        key = self._changed(path, kwargs.get("dir_fd"), follow=False)
        if key is None:
            return None
        if self._overlay.remove(key):
            return Done()
        return self._refused(key, args, kwargs)

    def plan_move(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Planned | Done | Fails | None:
        """`os.rename` and `os.replace`"""
        overlay = self._overlay
        source = overlay.key(args[0], kwargs.get("src_dir_fd"), follow=False)
        target = overlay.key(args[1], kwargs.get("dst_dir_fd"), follow=False)
        if source is None or target is None or source == target:
            return None
        overlay.forget_places()
        kinds = [overlay.kind(source), overlay.kind(target)]
        if Kind.REDIRECTED not in kinds:
            if not os.path.lexists(target):
                overlay.made(target)
            return None
        found = overlay.visible(source)
        if not os.path.lexists(found):
            return self._refused(source, args, kwargs)
        at_target = overlay.visible(target)
        is_folder = os.path.isdir(found) and not os.path.islink(found)
        if not os.path.isdir(overlay.visible(os.path.dirname(target))):
            return None if found == source else self._refused(target, args, kwargs)
        if os.path.isdir(at_target) and (not is_folder or any(overlay.names(target))):
            return Fails(errno.ENOTEMPTY if is_folder else errno.EISDIR, args[0], args[1])
        overlay.move(source, target)
        return Done()

    def plan_make_folder(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Planned | Done | None:
        """`os.mkdir`"""
        path = given("path", 0, args, kwargs)
        key = self._changed(path, kwargs.get("dir_fd"), follow=False)
        if key is None or os.path.lexists(self._overlay.visible(key)):
            return None
        if not os.path.isdir(self._overlay.visible(os.path.dirname(key))):
            return None
        mirror = self._overlay.make_folder(key, given("mode", 1, args, kwargs, 0o777))
        if mirror is None:
            return Done()
        os.mkdir(mirror)
        return Done()

    def plan_remove_folder(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Planned | Done | Fails | None:
        """`os.rmdir`"""
        path = given("path", 0, args, kwargs)
        key = self._changed(path, kwargs.get("dir_fd"), follow=False)
        if key is None or not os.path.isdir(self._overlay.visible(key)):
            return None if key is None else self._refused(key, args, kwargs)
        if any(self._overlay.names(key)):
            return Fails(errno.ENOTEMPTY, path)
        self._overlay.remove_tree(key)
        return Done()

    def plan_remove_tree(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Done | None:
        """`shutil.rmtree`"""
        path = given("path", 0, args, kwargs)
        key = self._changed(path, kwargs.get("dir_fd"), follow=False)
        self._overlay.forget_places()
        return Done() if key is not None and self._overlay.remove_tree(key) else None

    def plan_link(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Done | None:
        """`os.symlink`"""
        target = self._changed(args[1], kwargs.get("dir_fd"), follow=False)
        if target is None or os.path.lexists(self._overlay.visible(target)):
            return None
        self._overlay.forget_places()
        source = os.path.join(os.path.dirname(target), os.fsdecode(args[0]))
        self._overlay.link(self._overlay.key(source) or source, target)
        return Done()

    def plan_hard_link(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Done | None:
        """`os.link`"""
        source = self._overlay.key(args[0], kwargs.get("src_dir_fd"))
        target = self._changed(args[1], kwargs.get("dst_dir_fd"), follow=False)
        if source is None or target is None:
            return None
        if os.path.lexists(self._overlay.visible(target)):
            return None
        if not os.path.isfile(self._overlay.visible(source)):
            return None
        self._overlay.link(source, target)
        return Done()

    def plan_list(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Done | None:
        """`os.listdir`"""
        path = given("path", 0, args, kwargs, ".")
        key = self._listed("." if path is None else path)
        if key is None:
            return None
        kept, mirrored = self._overlay.names(key)
        names = [*kept, *mirrored]
        return Done([*map(os.fsencode, names)] if isinstance(path, bytes) else names)

    def plan_scan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Done | None:
        """`os.scandir`"""
        path = given("path", 0, args, kwargs, ".")
        path = "." if path is None else path
        key = self._listed(path)
        if key is None or isinstance(path, bytes):
            return None
        kept, mirrored = (set(names) for names in self._overlay.names(key))
        top = os.fspath(path)
        found: list[Any] = []
        if kept:
            with os.scandir(path) as before:
                found += [entry for entry in before if entry.name in kept]
        if mirrored:
            with os.scandir(self._overlay.files + key) as written:
                found += [Entry(os.path.join(top, entry.name), entry) for entry in written]
        return Done(Entries(found))

    def _listed(self, path: Any) -> str | None:
        """A folder whose list differs from what is on disk."""
        if not self._overlay.is_used() or (key := self._overlay.key(path)) is None:
            return None
        is_folder = os.path.isdir(self._overlay.visible(key))
        kept, mirrored = self._overlay.names(key) if is_folder else ([], [])
        if mirrored or (is_folder and len(kept) != len(_names(key))):
            return key
        return None

    def _changed(self, path: Any, dir_fd: int | None = None, follow: bool = True) -> str | None:
        """A path whose file is not changed in its own place."""
        key = self._overlay.key(path, dir_fd, follow)
        is_kept = key is not None and self._overlay.kind(key) is Kind.REDIRECTED
        return key if is_kept else None

    def _refused(self, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | None:
        """A call on something that is not there for the script fails, though it may be on disk."""
        found = self._overlay.visible(key)
        return None if found == key else ((found, *args[1:]), {})


def _names(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []


class Entry:
    """An `os.DirEntry` of a file in the mirror, by the name it has for the script."""

    __slots__ = ("_entry", "name", "path")

    def __init__(self, path: str, entry: Any) -> None:
        self.name = entry.name
        self.path = path
        self._entry = entry

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._entry.is_dir()

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self._entry.is_file()

    def is_symlink(self) -> bool:
        return False

    def is_junction(self) -> bool:
        return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return self._entry.stat()

    def inode(self) -> int:
        return self._entry.inode()

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"


class Entries:
    """What `os.scandir` gives: an iterator that can be closed."""

    def __init__(self, entries: list[Any]) -> None:
        self._rest: Iterator[Any] = iter(entries)

    def __iter__(self) -> Entries:
        return self

    def __next__(self) -> Any:
        return next(self._rest)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._rest = iter(())
