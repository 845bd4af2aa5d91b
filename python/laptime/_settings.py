"""Settings: arguments beat the environment, which beats `[tool.laptime]` in pyproject.toml."""

from __future__ import annotations

import os

_OFF = {"", "0", "false", "no", "off"}


class Settings:
    """How this process is recorded."""

    # Written out: `dataclasses` and `pathlib` would take half of the time an import may cost.
    __slots__ = ("dir", "disabled", "name", "quiet")

    def __init__(self, dir: str | None, name: str, quiet: bool, disabled: bool) -> None:
        self.dir = dir
        self.name = name
        self.quiet = quiet
        self.disabled = disabled


def settings(
    dir: str | os.PathLike[str] | None = None,
    name: str | None = None,
    quiet: bool | None = None,
    disabled: bool | None = None,
) -> Settings:
    """The settings in force, given these arguments."""
    told = _from_file() | _from_environment()
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
            told[key] = value.strip().lower() not in _OFF
    return told


def _from_file() -> dict[str, object]:
    """`[tool.laptime]` of the nearest pyproject.toml; a broken file is another tool's to complain about."""
    try:
        folder, parent = None, os.getcwd()
        while folder != parent:
            folder, parent = parent, os.path.dirname(parent)
            path = os.path.join(folder, "pyproject.toml")
            if os.path.isfile(path):
                return _table(path)
    except (OSError, ValueError, AttributeError):
        pass
    return {}


def _table(path: str) -> dict[str, object]:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if "laptime" not in text:
        return {}
    import tomllib  # Costs milliseconds, and few projects have the table.

    table = tomllib.loads(text).get("tool", {}).get("laptime", {})
    kinds = {"dir": str, "name": str, "quiet": bool, "disabled": bool}
    told = {key: table[key] for key, kind in kinds.items() if isinstance(table.get(key), kind)}
    if not told.get("dir"):
        told.pop("dir", None)
    else:
        # A path in a file is meant from where the file is.
        told["dir"] = os.path.join(os.path.dirname(path), told["dir"])
    return told
