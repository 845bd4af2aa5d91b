"""Trackers: services that keep a record of experiments run offline, into the scratch folder."""

from __future__ import annotations

import os
import sys
from typing import Any

from . import hooked
from .hooked import Planned

# Modes in which a tracker stays off the network anyway.
_QUIET = {"disabled", "offline", "dryrun", "debug", "local"}
# The variables that put a tracker offline, and those that say where it writes then.
_OFFLINE = {
    "WANDB_MODE": "offline",
    "NEPTUNE_MODE": "offline",
    "SWANLAB_MODE": "offline",
    "COMET_START_ONLINE": "0",
    "CLEARML_OFFLINE_MODE": "1",
    "DVC_STUDIO_OFFLINE": "1",
}
_FOLDERS = {
    "WANDB_DIR": "wandb",
    "SWANLAB_LOG_DIR": "swanlab",
    "COMET_OFFLINE_DIRECTORY": "comet",
    "TRACKIO_DIR": "trackio",
}

_folder = ""


def go_offline(scratch: str) -> None:
    """Sets the variables that trackers read, for this process and those it starts."""
    global _folder
    _folder = os.path.join(scratch, "trackers")
    for variable, mode in _OFFLINE.items():
        if os.environ.get(variable, "").lower() not in _QUIET:
            os.environ[variable] = mode
    for variable, name in _FOLDERS.items():
        os.environ[variable] = _made(name)
    os.environ["MLFLOW_TRACKING_URI"] = _mlflow()
    os.environ["MLFLOW_REGISTRY_URI"] = _mlflow()


def attach() -> None:
    """Keeps the trackers that are imported offline, whatever the script asks for."""
    for package, name, plan in (
        ("wandb", "init", _plan_wandb),
        ("mlflow", "set_tracking_uri", _plan_mlflow),
        ("comet_ml", "start", _plan_comet),
    ):
        module = sys.modules.get(package)
        if hasattr(module, name):
            hooked.replace(module, name, plan)


def _plan_wandb(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned:
    mode = kwargs.get("mode")
    kept = {"mode": mode} if mode in _QUIET else {"mode": os.environ["WANDB_MODE"]}
    return args, kwargs | kept | {"dir": _made("wandb")}


def _plan_mlflow(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned:
    return (_mlflow(),), {}


def _plan_comet(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Planned:
    return args, kwargs | {"online": False}


def _mlflow() -> str:
    return "file:" + _made("mlflow")


def _made(name: str) -> str:
    path = os.path.join(_folder, name)
    os.makedirs(path, exist_ok=True)
    return path
