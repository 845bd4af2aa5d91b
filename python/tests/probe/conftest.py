"""What the tests of a probe share: a project with files in it, a script that changes them, and how it ended."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import laptime
from side_by_side import Ending, both, check_same, run

SCRIPTS = Path(__file__).parent / "scripts"
HOOK = str(Path(laptime.__file__).parent / "_hook")
# What lies in the project before.
BEFORE = ("model.pt", "best.pt", "old.pt", "run.log", "runs/1/model.pt", "runs/2/model.pt")


@dataclass(frozen=True)
class Tried:
    """A script that was run with its files protected."""

    ending: Ending
    scratch: Path

    def lines(self, name: str) -> list[str]:
        """One of the files in which the probe says what it did."""
        path = self.scratch / name
        return path.read_text().splitlines() if path.exists() else []


def make_project(folder: Path, name: str) -> Path:
    """A folder with files in it, and a script of ours."""
    for path in BEFORE:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"{path} as it was\n")
    shutil.copy(SCRIPTS / name, folder)
    return folder


def contents(folder: Path) -> dict[str, str]:
    """What lies in a folder: the hash of every file, and every folder."""
    return {
        str(path.relative_to(folder)): "folder"
        if path.is_dir()
        else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts
    }


def environment(folder: Path) -> dict[str, str]:
    """That of a script whose files are protected."""
    ours = {
        "LAPTIME_PROBE": str(folder / "scratch"),
        "LAPTIME_DIR": str(folder / "kept"),
        "LAPTIME_QUIET": "1",
        "PYTHONPATH": HOOK,
    }
    return plain_environment() | ours


def plain_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAPTIME_")}
    kept.pop("PYTHONPATH", None)
    return kept | {
        "OMP_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "0",
    }


def try_beside_bare(name: str, folder: Path) -> Tried:
    """Runs a script bare and protected; it must notice nothing, and the files must be as they were."""
    # The same path in both, so that tracebacks are the same.
    bare = make_project(folder / "bare" / "project", name)
    tried = make_project(folder / "tried" / "project", name)
    before = contents(tried)
    command = [sys.executable, name]
    ended, plain = both(
        lambda: run(command, plain_environment(), bare),
        lambda: run(command, environment(folder), tried),
    )
    seen = Ending(ended.code, ended.stdout, ended.stderr.replace("/tried/", "/bare/"))
    check_same(plain, seen)
    assert contents(tried) == before
    assert contents(bare) != before
    found = Tried(ended, folder / "scratch")
    assert found.lines("failed.txt") == []
    return found
