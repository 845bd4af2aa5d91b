"""Exempt: the files that a script may write where they are, probe or none."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from enum import Enum

_SYSTEM = ("/dev", "/proc", "/sys")
_LOCKS = (".lock", ".lck")
# Variables that name a cache; what lies there is made anew when it is missing.
_CACHES = (
    "XDG_CACHE_HOME",
    "HF_HOME",
    "TORCH_HOME",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "NUMBA_CACHE_DIR",
    "CUDA_CACHE_PATH",
    "MPLCONFIGDIR",
    "KERAS_HOME",
    "JAX_COMPILATION_CACHE_DIR",
)
_HOME_CACHES = (".cache", ".config/matplotlib", ".keras", ".triton", ".nv")


class Kind(Enum):
    """What is done with a file that is to be written."""

    REDIRECTED = "goes to the scratch folder"
    LISTED = "written where it is, and listed"
    SILENT = "written where it is; no file of the user's"


class Exempt:
    """Says of each path what is done with it."""

    def __init__(self, scratch: str, project: str, began: float) -> None:
        self._began = began
        self._silent = tuple(map(_inside, (scratch, *_SYSTEM, *_own_folders())))
        self._own_file = os.environ.get("LAPTIME_PYTHONS")
        self._temporary = tuple(map(_inside, _temporary_folders()))
        self._caches = tuple(map(_inside, _cache_folders()))
        # A project that lies in such a folder is a project all the same.
        inside = (project + "/").startswith
        self._project = next(
            (
                _inside(project)
                for folder in (*self._temporary, *self._caches)
                if inside(folder) and project + "/" != folder
            ),
            None,
        )

    def kind(self, path: str) -> Kind:
        """What is done with a file of this absolute path that is to be written."""
        if (
            path.startswith(self._silent)
            or path == self._own_file
            or "/__pycache__/" in path
            or "/.laptime/" in path
        ):
            return Kind.SILENT
        status = _status(path)
        if status is not None and not _is_ordinary(status):
            return Kind.SILENT
        if path.endswith(_LOCKS) and (status is None or status.st_size == 0):
            return Kind.LISTED
        if self._project is not None and path.startswith(self._project):
            return Kind.REDIRECTED
        if path.startswith(self._caches):
            return Kind.LISTED
        if path.startswith(self._temporary) and not self._was_there(status):
            return Kind.LISTED
        return Kind.REDIRECTED

    def is_new_temporary(self, path: str) -> bool:
        """Whether a file lies in a temporary folder and was made or changed since the probe began."""
        if self._project is not None and path.startswith(self._project):
            return False
        return path.startswith(self._temporary) and not self._was_there(_status(path))

    def _was_there(self, status: os.stat_result | None) -> bool:
        return status is not None and status.st_ctime < self._began


def _inside(folder: str) -> str:
    return folder.rstrip("/") + "/"


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _is_ordinary(status: os.stat_result) -> bool:
    mode = status.st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _own_folders() -> list[str]:
    runs = os.environ.get("LAPTIME_DIR")
    return [os.path.realpath(runs)] if runs else []


def _temporary_folders() -> set[str]:
    named = {tempfile.gettempdir(), "/tmp", "/var/tmp"}
    return {os.path.realpath(folder) for folder in named}


def _cache_folders() -> set[str]:
    home = os.path.expanduser("~")
    named = {os.environ[name] for name in _CACHES if os.environ.get(name)}
    named |= {os.path.join(home, name) for name in _HOME_CACHES}
    if sys.pycache_prefix:
        named.add(sys.pycache_prefix)
    return {os.path.realpath(folder) for folder in named}
