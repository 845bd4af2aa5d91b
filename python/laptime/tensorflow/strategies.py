"""Strategies: trainings on several devices or machines, whose exchange happens inside TensorFlow's graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from .. import _guard, _native


def attach() -> None:
    """Hooks the scope that a script makes its model in."""
    _guard.replace(tf.distribute.Strategy, "scope", _make_scope)


def _make_scope(original: Callable[..., Any]) -> Callable[..., Any]:
    def scope(self: Any, *args: Any, **kwargs: Any) -> Any:
        _note(self)
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
            raise

    return scope


_noted: set[str] = set()


@_guard.safely
def _note(strategy: Any) -> None:
    """Says once that what its replicas exchange is not seen."""
    name = type(strategy).__name__
    if strategy.num_replicas_in_sync > 1 and name not in _noted:
        _noted.add(name)
        _native.collectives_not_seen(f"{name} exchanges inside TensorFlow's graphs")
