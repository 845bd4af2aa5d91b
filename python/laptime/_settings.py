"""Settings: arguments beat the environment, which beats `[tool.laptime]` in pyproject.toml."""

from __future__ import annotations

import os

from laptime import _native


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
    """The settings in force, given these arguments: those that `laptime run` goes by too."""
    # Whatever is passed where a text or a switch belongs must not end the training.
    text = None if name is None else str(name)
    switches = (None if value is None else bool(value) for value in (quiet, disabled))
    folder, text, is_quiet, is_disabled = _native.settings(dir, text, *switches)
    return Settings(folder, text or "", is_quiet, is_disabled)
