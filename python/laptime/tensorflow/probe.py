"""Probe: what TensorFlow writes below Python; attached only where `LAPTIME_PROBE` is set."""

from __future__ import annotations

import os
import sys
from typing import Any

import tensorflow as tf

from .._probe import hooked
from .._probe.files import given, with_argument
from .._probe.hooked import Done, Planned
from .._probe.libraries import fills, folder_for, found, kept, method, plan_open, reads, writes


def attach() -> None:
    """Leads checkpoints, summaries and saved models to the scratch folder."""
    for name in ("save", "write"):
        method(tf.train.Checkpoint, name, _plan_save)
    for name in ("restore", "read"):
        method(tf.train.Checkpoint, name, _plan_restore)
    method(tf.train.CheckpointManager, "__init__", _plan_manager)
    _replace(tf.train, "latest_checkpoint", _plan_latest)
    _replace(tf.saved_model, "save", fills("export_dir", 1))
    _replace(tf.summary, "create_file_writer", fills("logdir", 0))
    # The class that `GFile` is made of has the arguments of `open`.
    method(tf.io.gfile.GFile.__mro__[1], "__init__", plan_open)
    for name in ("exists", "isdir", "stat", "listdir"):
        _replace(tf.io.gfile, name, reads("path", 0))
    _replace(tf.io.gfile, "remove", _plan_remove)
    _replace(tf.io.gfile, "rmtree", _plan_remove_tree)
    _replace(tf.io.gfile, "rename", _plan_move)
    _replace(tf.io.gfile, "copy", _plan_copy)


def _replace(owner: Any, name: str, plan: hooked.Plan) -> None:
    """Hooks a function where it is defined, too: `import tensorflow.summary` takes it from there once more."""
    original = getattr(owner, name)
    hooked.replace(owner, name, plan)
    setattr(sys.modules[original.__module__], original.__name__, getattr(owner, name))


def _plan_remove(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Done | None:
    place = kept(given("path", 0, args, kwargs), follow=False)
    return Done() if place is not None and place[0].remove(place[1]) else None


def _plan_remove_tree(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Done | None:
    place = kept(given("path", 0, args, kwargs), follow=False)
    return Done() if place is not None and place[0].remove_tree(place[1]) else None


def _plan_move(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Done | None:
    paths = given("src", 0, args, kwargs), given("dst", 1, args, kwargs)
    if not any(kept(path, follow=False) for path in paths):
        return None
    source, target = (found(path, follow=False) for path in paths)
    if source is None or target is None:
        return None
    overlay = source[0]
    is_taken = os.path.lexists(overlay.visible(target[1]))
    if is_taken and not given("overwrite", 2, args, kwargs, False):
        return None
    if not os.path.lexists(overlay.visible(source[1])):
        return None
    overlay.move(source[1], target[1])
    return Done()


def _plan_copy(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | None:
    planned = reads("src", 0)(args, kwargs) or (args, kwargs)
    return writes("dst", 1)(*planned) or planned


def _plan_save(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | None:
    """The files of a checkpoint have names that begin with the path that is given."""
    place = kept(given("file_prefix", 1, args, kwargs))
    if place is None:
        return None
    prefix = place[0].files + place[1]
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    return with_argument("file_prefix", 1, args, kwargs, prefix)


def _plan_restore(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | None:
    asked = given("save_path", 1, args, kwargs)
    place = found(asked) if asked else None
    if place is None or not os.path.exists(f"{place[0].files}{place[1]}.index"):
        return None
    return with_argument("save_path", 1, args, kwargs, place[0].files + place[1])


def _plan_manager(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | None:
    """A manager that finds checkpoints of earlier runs goes on with copies of them, which it may remove."""
    folder = given("directory", 2, args, kwargs)
    place = kept(folder)
    mirror = folder_for(folder)
    if place is None or mirror is None:
        return None
    overlay, key = place
    for name in os.listdir(key) if os.path.isdir(key) else []:
        if name == "checkpoint" or name.endswith(".index") or ".data-" in name:
            overlay.writable(os.path.join(key, name), keep=True)
    return with_argument("directory", 2, args, kwargs, mirror)


def _plan_latest(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned | None:
    place = found(given("checkpoint_dir", 0, args, kwargs))
    if place is None or not os.path.exists(f"{place[0].files}{place[1]}/checkpoint"):
        return None
    return with_argument("checkpoint_dir", 0, args, kwargs, place[0].files + place[1])
