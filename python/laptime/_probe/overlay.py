"""Overlay: the user's folders as the script sees them: what it wrote, over what was there before.

All of it is on disk, so that the processes of a script see the same: `files/` mirrors absolute paths, `gone` lists what
was removed, and a mark says of a path that the probe made it. A link in `files/` stands for a file that was renamed.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from os import access, lstat  # As they are before they are hooked: readers wait for them.
from typing import Any

from .exempt import Exempt, Kind
from .hooked import append, here

# The process that the command began with, for those that it starts.
_FIRST = "LAPTIME_PROBE_FIRST"
# Folders whose true place is remembered.
_MOST_FOLDERS = 10_000
# A folder with more in it is not renamed file by file.
_MOST_ENTRIES = 100_000


class Unsafe(Exception):
    """Redirecting would cost more than it protects, or break the script."""


class Overlay:
    """Where each path of the script leads."""

    def __init__(self, scratch: str) -> None:
        os.makedirs(scratch, exist_ok=True)
        self.root = os.path.realpath(scratch)
        self.files = os.path.join(self.root, "files")
        self._marks = os.path.join(self.root, "marks")
        os.makedirs(self._marks, exist_ok=True)
        self._places: dict[str, str] = {}
        self._used = False
        # What is gone for the script, and how much of the file that says so was read, bytes.
        self._gone_file = os.path.join(self.root, "gone")
        self._gone: set[str] = set()
        self._gone_read = 0
        project, began = self._begin()
        # The first process of a command is the last to end.
        if os.environ.setdefault(_FIRST, str(os.getpid())) == str(os.getpid()):
            atexit.register(self._remove_made, os.getpid())
        self.exempt = Exempt(self.root, project, began)

    def _begin(self) -> tuple[str, float]:
        """The folder the script was started in, and since when; the first process says it to the others."""
        path = os.path.join(self.root, "began")
        try:
            with open(path, "x") as file:
                file.write(os.path.realpath(os.getcwd()))
        except FileExistsError:
            pass
        with open(path) as file:
            return file.read(), os.stat(path).st_mtime

    # Paths.

    def key(self, path: Any, dir_fd: int | None = None, follow: bool = True) -> str | None:
        """The true absolute path of what the script names; `None` where that is no path."""
        if isinstance(path, int):
            return None
        name = os.fsdecode(path)
        if dir_fd is not None:
            name = os.path.join(os.readlink(f"/proc/self/fd/{dir_fd}"), name)
        folder, name = os.path.split(os.path.join(os.getcwd(), name).rstrip("/"))
        if name in ("", ".", ".."):
            return os.path.realpath(os.path.join(folder, name))
        found = os.path.join(self._place(folder), name)
        if follow and stat.S_ISLNK(_mode(found)) and not os.path.lexists(self.files + found):
            return os.path.realpath(found)
        return found

    def read_instead(self, path: Any, dir_fd: int | None = None, follow: bool = True) -> str | None:
        """The file that is read in the place of this one; `None` where it is this one."""
        if not self.is_used() or (key := self.key(path, dir_fd, follow)) is None:
            return None
        if not access(self.files + os.path.dirname(key), os.F_OK) and not self._any_gone():
            return None
        found = self.visible(key)
        return None if found == key else found

    def looked_at(self, path: Any, dir_fd: int | None = None, follow: bool = True) -> str | None:
        """The same for who looks at a file or folder: one that the script made has the times of what is in it."""
        found = self.read_instead(path, dir_fd, follow)
        if found is None and self.is_used() and (key := self.key(path, dir_fd, follow)) is not None:
            is_filled = stat.S_ISDIR(_mode(self.files + key))
            return self.files + key if is_filled and self.is_made(key) else None
        return found

    def _place(self, folder: str) -> str:
        found = self._places.get(folder)
        if found is None:
            if len(self._places) > _MOST_FOLDERS:
                self._places.clear()
            found = self._places[folder] = os.path.realpath(folder)
        return found

    def forget_places(self) -> None:
        """Links may lead elsewhere now."""
        self._places.clear()

    def is_used(self) -> bool:
        """Whether anything was redirected, made or removed so far, by any process."""
        self._used = self._used or _mode(self.files) != 0
        return self._used

    def visible(self, key: str) -> str:
        """Where a reader finds what the script calls by this path."""
        mirror = self.files + key
        mode = _mode(mirror)
        if mode == 0:
            return mirror if self.is_gone(key) else key
        # Folders stand in the mirror because of what is in them.
        is_before = stat.S_ISDIR(mode) and os.path.isdir(key) and not self.is_gone(key)
        return key if is_before else mirror

    def writable(self, key: str, keep: bool) -> str | None:
        """The file in the scratch folder that is written instead, begun with what was there where that is kept.

        `None` where the script's own call fails, as when there is no such folder.
        """
        if os.path.isdir(self.visible(key)) or not os.path.isdir(
            self.visible(os.path.dirname(key))
        ):
            return None
        mirror = self._mirror(key)
        source = key if not self.is_gone(key) else None
        if os.path.islink(mirror):
            source = os.readlink(mirror)
            os.unlink(mirror)
        elif os.path.lexists(mirror):
            return mirror
        if keep and source is not None and os.path.exists(source):
            self._copy(source, mirror)
        return mirror

    def _mirror(self, key: str) -> str:
        """The place of a path in the mirror, with the folder around it."""
        folder, name = os.path.split(self.files + key)
        os.makedirs(folder, exist_ok=True)
        if not (os.path.realpath(folder) + "/").startswith(self.files + "/"):
            raise Unsafe(f"a link leads out of the scratch folder: {key}")
        return os.path.join(folder, name)

    def _copy(self, source: str, mirror: str) -> None:
        if os.path.getsize(source) > shutil.disk_usage(self.root).free // 2:
            raise Unsafe(f"no room for a copy: {source}")
        part = f"{mirror}.{os.getpid()}.part"
        shutil.copy2(source, part)
        os.chmod(part, stat.S_IMODE(os.stat(part).st_mode) | stat.S_IWUSR)
        os.replace(part, mirror)

    # Marks.

    def _mark(self, kind: str, key: str) -> str:
        name = hashlib.sha1(os.fsencode(key), usedforsecurity=False).hexdigest()
        return os.path.join(self._marks, f"{kind}-{name}")

    def _set_mark(self, kind: str, key: str) -> bool:
        """Marks a path; says whether it was not yet."""
        try:
            with open(self._mark(kind, key), "xb") as file:
                file.write(os.fsencode(key))
            return True
        except FileExistsError:
            return False

    def _drop_mark(self, kind: str, key: str) -> None:
        try:
            os.unlink(self._mark(kind, key))
        except FileNotFoundError:
            pass

    def list_opened(self, key: str) -> None:
        """Lists a file that is written where it is."""
        if not os.path.isdir(key) and self._set_mark("opened", key):
            append(os.path.join(self.root, "opened.txt"), key)

    def is_gone(self, key: str) -> bool:
        """Whether the script removed what was there under this path, or a folder around it."""
        if not self._any_gone():
            return False
        while len(key) > 1:
            if key in self._gone:
                return True
            key = os.path.dirname(key)
        return False

    def _any_gone(self) -> bool:
        """Whether anything is gone; reads what the processes of the script have added to the list."""
        if not self._gone and not access(self._gone_file, os.F_OK):
            return False
        if lstat(self._gone_file).st_size != self._gone_read:
            self._read_gone()
        return True

    def _read_gone(self) -> None:
        with open(self._gone_file, "rb") as file:
            file.seek(self._gone_read)
            added = file.read()
        self._gone.update(os.fsdecode(path) for path in added.split(b"\0\n") if path)
        self._gone_read += len(added)

    def hide(self, key: str) -> None:
        """Lets what was there be gone for the script."""
        os.makedirs(self.files, exist_ok=True)
        append(self._gone_file, key + "\0")

    def is_made(self, key: str) -> bool:
        """Whether the probe made what lies there itself."""
        return os.path.exists(self._mark("made", key)) or self.exempt.is_new_temporary(key)

    def made(self, key: str) -> None:
        """The script made a file or a folder in its own place."""
        is_new = self._set_mark("made", key)
        if is_new and os.path.isdir(key):
            append(os.path.join(self.root, "made.txt"), key)

    def kind(self, key: str) -> Kind:
        """What is done with a path that the script changes."""
        if os.path.lexists(self.files + key) and not os.path.isdir(self.files + key):
            return Kind.REDIRECTED
        found = self.exempt.kind(key)
        is_own = found is Kind.REDIRECTED and os.path.isfile(key) and self.is_made(key)
        return Kind.LISTED if is_own else found

    # Changes of folders.

    def names(self, key: str) -> tuple[list[str], list[str]]:
        """What a folder has: names that are there as before, and names in the mirror."""
        mirrored = _names(self.files + key)
        before = [] if self.is_gone(key) else _names(key)
        hidden = set(mirrored)
        kept = [
            name
            for name in before
            if name not in hidden and not self.is_gone(os.path.join(key, name))
        ]
        return kept, mirrored

    def make_folder(self, key: str, mode: int) -> str | None:
        """Makes a folder in its own place; where there is none for it, gives the one in the mirror to be made."""
        if self.is_gone(key) or not os.path.isdir(os.path.dirname(key)):
            return self._mirror(key)
        os.mkdir(key, mode)
        self.made(key)
        return None

    def remove(self, key: str) -> bool:
        """Removes a file; says whether that is all there is to do."""
        mirror = self.files + key
        if os.path.lexists(mirror) and (os.path.islink(mirror) or not os.path.isdir(mirror)):
            os.unlink(mirror)
            if os.path.lexists(key):
                self.hide(key)
            return True
        if not os.path.lexists(key) or (os.path.isdir(key) and not os.path.islink(key)):
            return False
        if self.is_made(key):
            os.unlink(key)
            self._drop_mark("made", key)
        elif self.is_gone(key):
            return False
        else:
            self.hide(key)
        return True

    def remove_tree(self, key: str) -> bool:
        """Removes a folder with all in it; says whether there was one."""
        if not os.path.isdir(self.visible(key)) or os.path.islink(key):
            return False
        shutil.rmtree(self.files + key, ignore_errors=True)
        if not os.path.isdir(key):
            return True
        if self.is_made(key):
            shutil.rmtree(key, ignore_errors=True)
            self._drop_mark("made", key)
        else:
            self.hide(key)
        return True

    def move(self, source: str, target: str) -> None:
        """Renames a file or folder; what was there before stays where it is."""
        found = self.visible(source)
        if os.path.isdir(found) and not os.path.islink(found):
            return self._move_folder(source, target)
        if self.kind(target) is not Kind.REDIRECTED:
            self.list_opened(target)
            shutil.copy2(found, target)
        elif found == source and not self.is_made(source):
            self._alias(source, target)
        else:
            # A link that stands for a renamed file goes on doing so.
            shutil.move(found, self._free(target))
        self.remove(source)

    def _alias(self, source: str, target: str) -> None:
        """Lets a path stand for a file that was there before, without a copy."""
        os.symlink(source, self._free(target))

    def _free(self, key: str) -> str:
        """The place of a path in the mirror, with nothing there."""
        mirror = self._mirror(key)
        if os.path.lexists(mirror):
            os.unlink(mirror)
        return mirror

    def _move_folder(self, source: str, target: str) -> None:
        is_made = self.is_made(source)
        for at, (folder, name) in enumerate(list(self._walk(source))):
            if at > _MOST_ENTRIES:
                raise Unsafe(f"too many files to rename: {source}")
            old = os.path.join(source, folder, name)
            new = os.path.join(target, folder, name)
            found = self.visible(old)
            if found != old or is_made:
                shutil.move(found, self._free(new))
            else:
                self._alias(old, new)
        if not os.path.isdir(target) and os.path.isdir(os.path.dirname(target)):
            os.mkdir(target)
            self.made(target)
        os.makedirs(self.files + target, exist_ok=True)
        self.remove_tree(source)

    def _walk(self, top: str, below: str = "") -> Iterator[tuple[str, str]]:
        """The files under a folder as the script sees it: the folder of each below the top, and its name."""
        kept, mirrored = self.names(os.path.join(top, below))
        for name in (*kept, *mirrored):
            path = self.visible(os.path.join(top, below, name))
            if os.path.isdir(path) and not os.path.islink(path):
                yield from self._walk(top, os.path.join(below, name))
            else:
                yield below, name

    def link(self, source: str, target: str) -> None:
        """Lets a path lead to another one."""
        self._alias(self.files + source if self._is_mirrored(source) else source, target)

    def _is_mirrored(self, key: str) -> bool:
        return os.path.lexists(self.files + key)

    # The end.

    def _remove_made(self, process: int) -> None:
        """Takes away the folders that the script made, as far as nothing is in them."""
        here.inside = True
        try:
            for folder in self._made_folders() if os.getpid() == process else []:
                _remove_empty(folder)
        finally:
            here.inside = False

    def _made_folders(self) -> list[str]:
        """The folders that the script made, the deepest first."""
        try:
            with open(os.path.join(self.root, "made.txt"), "rb") as file:
                folders = {os.fsdecode(line) for line in file.read().splitlines()}
        except OSError:
            return []
        return sorted(folders, key=len, reverse=True)


def _remove_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        pass


def _mode(path: str) -> int:
    """The kind of a file, not following a link; 0 where there is none."""
    try:
        return lstat(path).st_mode
    except OSError:
        return 0


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
