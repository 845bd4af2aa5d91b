"""A block of a pack's source as a task: read where there is a CPU for it, and written by whoever asked."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import ray

from laptime import _native

_opened: tuple[str, _native.PackBlocks] | None = None
"""The source that this worker of Ray reads, for as long as it is asked for the same one."""


@ray.remote
def on_node(folder: str, request: dict[str, Any], _: bool) -> tuple[dict[str, Any] | None, bytes]:
    """Reads a block in the folder of the same name; gives why it cannot, or its bytes."""
    os.chdir(folder)
    os.environ["LAPTIME_PYTHON"] = sys.executable
    try:
        return None, _blocks(json.dumps(request["source"])).read(request["block"])
    except ValueError as error:
        return json.loads(str(error)), b""


def at_home(
    request: dict[str, Any], answer: dict[str, Any] | None, block: bytes
) -> tuple[dict[str, Any] | None, bytes]:
    """Passes it on."""
    return answer, block


def _blocks(source: str) -> _native.PackBlocks:
    global _opened
    if _opened is None or _opened[0] != source:
        _opened = (source, _native.PackBlocks(source))
    return _opened[1]
