"""Checkpoint: `torch.save`."""

from __future__ import annotations

import torch

from .. import _guard, _native
from .._native import begin_pause, end_pause
from .around import around

_CHECKPOINT = _native.stage_id("checkpoint")


def attach() -> None:
    """Hooks `torch.save`."""
    original = torch.save
    _guard.replace(torch, "save", around(_begin_save, _end_save))
    if torch.serialization.save is original:
        torch.serialization.save = torch.save


def _begin_save() -> None:
    begin_pause(_CHECKPOINT)


def _end_save() -> None:
    end_pause(_CHECKPOINT)
