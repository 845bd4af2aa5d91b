"""Checkpoint: `torch.save`."""

from __future__ import annotations

import torch

from .. import _guard, _native
from .._native import enter, exit, pause_steps, see_activity
from .around import around

_CHECKPOINT = _native.stage_id("checkpoint")


def attach() -> None:
    """Hooks `torch.save`."""
    original = torch.save
    _guard.replace(torch, "save", around(_begin_save, _end_save))
    if torch.serialization.save is original:
        torch.serialization.save = torch.save


def _begin_save() -> None:
    pause_steps()
    enter(_CHECKPOINT)


def _end_save() -> None:
    exit(_CHECKPOINT)
    see_activity()
