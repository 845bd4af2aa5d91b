"""Checkpoint: saving by TensorFlow's own means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from .. import _guard, _native, _passes
from .._native import begin_pause, end_pause
from .data import is_scripts

_CHECKPOINT = _native.stage_id("checkpoint")


def attach() -> None:
    """Hooks checkpoints and their managers."""
    for kind in (tf.train.Checkpoint, tf.train.CheckpointManager):
        _guard.replace(kind, "save", _make_save)


def _make_save(original: Callable[..., Any]) -> Callable[..., Any]:
    def save(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_ours = is_scripts()
        if is_ours:
            _passes.settle()
            begin_pause(_CHECKPOINT)
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            if is_ours:
                end_pause(_CHECKPOINT)

    return save
