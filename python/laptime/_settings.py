"""Settings: arguments beat the environment, which beats `[tool.laptime]` in pyproject.toml."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TRUE = {"1", "true", "yes", "on"}


@dataclass(frozen=True, slots=True)
class Settings:
    """How this process is recorded."""

    dir: str | None = None
    name: str = ""
    quiet: bool = False
    disabled: bool = False


def settings(
    dir: str | os.PathLike[str] | None = None,
    name: str | None = None,
    quiet: bool | None = None,
    disabled: bool | None = None,
) -> Settings:
    """The settings in force, given these arguments."""
    told = _from_file(Path.cwd()) | _from_environment()
    arguments = {"dir": dir, "name": name, "quiet": quiet, "disabled": disabled}
    told |= {key: value for key, value in arguments.items() if value is not None}
    folder = told.get("dir")
    return Settings(
        dir=None if folder is None else os.fspath(folder),
        name=str(told.get("name", "")),
        quiet=bool(told.get("quiet", False)),
        disabled=bool(told.get("disabled", False)),
    )


def _from_environment() -> dict[str, object]:
    told: dict[str, object] = {}
    for key in ("dir", "name"):
        if value := os.environ.get(f"LAPTIME_{key.upper()}"):
            told[key] = value
    for key in ("quiet", "disabled"):
        if value := os.environ.get(f"LAPTIME_{key.upper()}"):
            told[key] = value.strip().lower() in _TRUE
    return told


def _from_file(folder: Path) -> dict[str, object]:
    """`[tool.laptime]` of the nearest pyproject.toml; a broken file is another tool's to complain about."""
    try:
        for parent in (folder, *folder.parents):
            path = parent / "pyproject.toml"
            if path.is_file():
                return _table(path)
    except (OSError, ValueError):
        pass
    return {}


def _table(path: Path) -> dict[str, object]:
    text = path.read_text(encoding="utf-8")
    if "tool.laptime" not in text:
        return {}
    import tomllib  # Costs milliseconds, and few projects have the table.

    table = tomllib.loads(text).get("tool", {}).get("laptime", {})
    kinds = {"dir": str, "name": str, "quiet": bool, "disabled": bool}
    told = {key: table[key] for key, kind in kinds.items() if isinstance(table.get(key), kind)}
    if "dir" in told:
        # A path in a file is meant from where the file is.
        told["dir"] = str(path.parent / told["dir"])
    return told
