"""What nodes of a cluster do for laptime; nodes import this, so laptime must be installed on them.

A kind of task has two ends: `on_node` runs there, and `at_home` takes what it gave.
"""

from __future__ import annotations

import os
import socket
from typing import Any

import ray

from laptime import _native


@ray.remote(num_cpus=0, max_retries=0)
def look(folder: str, log_version: int) -> dict[str, Any]:
    """What a node is, and what it lacks to take work."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        machine = file.read().strip()
    lacking = ""
    if log_version != _native.LOG_VERSION:
        lacking = f"it records log format {_native.LOG_VERSION}, and this laptime {log_version}"
    if not os.path.isdir(folder):
        lacking = f"there is no folder {folder}; put what the command needs on a disk that all nodes share"
    return {
        "name": socket.gethostname(),
        "machine": machine,
        "cpus": len(os.sched_getaffinity(0)),
        "lacking": lacking or None,
    }


def lacking(resources: dict[str, float], options: dict[str, Any]) -> str | None:
    """What a node never has enough of for a task."""
    for name, wanted in (("CPU", "num_cpus"), ("GPU", "num_gpus"), ("memory", "memory")):
        if options.get(wanted, 0) > resources.get(name, 0):
            return f"it has {resources.get(name, 0):g} {name} of {options[wanted]:g}"
    return None


def of_kind(kind: str) -> Any:
    """The two ends of a kind of task."""
    from importlib import import_module

    return import_module(_KINDS[kind])


_KINDS = {"repeat": "laptime.ray.repeat", "block": "laptime.ray.block"}
