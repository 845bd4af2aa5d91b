"""Checkpoint: saving by TensorFlow's own means."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .. import _guard, _native, _passes
from .._around import around
from .._native import begin_pause, end_pause
from .data import is_scripts

_CHECKPOINT = _native.stage_id("checkpoint")


def attach() -> None:
    """Hooks checkpoints and their managers."""
    for kind in (tf.train.Checkpoint, tf.train.CheckpointManager):
        _guard.replace(kind, "save", around(_begin_save, end_pause))


def _begin_save(args: Any, kwargs: Any) -> int | None:
    if not is_scripts():
        return None
    _passes.settle()
    begin_pause(_CHECKPOINT)
    return _CHECKPOINT
