"""A worker of Ray Train as a rank of its run."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from laptime import _native, _session

_REGISTRY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "_hook", "frameworks.txt")

# How long a rank waits for the first one, seconds.
LONGEST_WAIT = 10.0


def begin(place: dict[str, Any]) -> Callable[[str, str | None], object]:
    """Begins to record this worker; gives what ends it."""
    from ray.train import get_context

    context = get_context()
    # Trainers of torch say so themselves.
    os.environ.setdefault("RANK", str(context.get_world_rank()))
    os.environ.setdefault("WORLD_SIZE", str(context.get_world_size()))
    run = place["run"] or _meet(place, context.get_world_rank())
    if run and os.path.isdir(run):
        os.environ.setdefault(_session.RUN_VARIABLE, run)
    _attach_frameworks()
    _session.init(dir=place["dir"], name=place["name"], quiet=True)
    return _session.finish


def _meet(place: dict[str, Any], rank: int) -> str | None:
    """The run that the first rank makes and the others join, where they have its folder on disk.

    Nobody waits long: the first rank may be on another machine, or not be recorded at all.
    """
    note = os.path.join(place["dir"], f"ray-{place['launch']}")
    if rank == 0:
        _session.init(dir=place["dir"], name=place["name"], quiet=True)
        if run := _native.run_folder():
            with open(note + ".new", "w") as file:
                file.write(run)
            os.rename(note + ".new", note)
            _session.before_end.append(lambda: Path(note).unlink(missing_ok=True))
        return run
    until = time.monotonic() + LONGEST_WAIT
    while os.path.isdir(os.path.dirname(place["dir"])) and time.monotonic() < until:
        try:
            with open(note) as file:
                return file.read()
        except OSError:
            time.sleep(0.02)
    return None


def _attach_frameworks() -> None:
    """Attaches the hooks of the frameworks that this worker has imported, as the start-up hook would have."""
    with open(_REGISTRY) as file:
        words = [line.split() for line in file if line.strip() and not line.startswith("#")]
    for imported, module in words:
        if imported in sys.modules and module != "laptime.ray.train":
            try:
                import_module(module).attach()
            except Exception as error:
                _native.trouble(imported.split(".")[0], f"{type(error).__name__}: {error}")
