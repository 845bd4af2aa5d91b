"""Trainings of Ray Train: every worker is a rank of one run.

Under `laptime run` the trainers are hooked, and the ranks join the command's run.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from laptime import _guard, _session

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "_laptime_recorded"


def recorded(loop: F, *, dir: str | os.PathLike[str] | None = None, name: str | None = None) -> F:
    """The same training loop, recorded in every worker that runs it: together they make one run.

    trainer = TorchTrainer(laptime.ray.recorded(train_loop), scaling_config=ScalingConfig(2))

    The run is kept where this script would keep its own, so that folder must be on a disk that the workers have too;
    elsewhere each machine keeps a run of its own, and `laptime report A B` shows them as one.
    """
    settings = _session.settings(dir, name)
    if settings.disabled or getattr(loop, _MARK, False):
        return loop
    place = {
        "run": os.environ.get(_session.RUN_VARIABLE),
        "launch": os.urandom(8).hex(),
        "dir": os.path.abspath(settings.dir or ".laptime"),
        "name": settings.name or os.path.basename(sys.argv[0]) or None,
    }

    @functools.wraps(loop)
    def recorded_loop(*arguments: Any) -> Any:
        # It travels to the workers by value: one without laptime trains without it.
        try:
            from laptime.ray.worker import begin

            end = begin(place)
        except Exception:
            end = None
        try:
            result = loop(*arguments)
        except BaseException as error:
            if end is not None:
                end("failed", f"{type(error).__name__}: {error}".split("\n")[0])
            raise
        if end is not None:
            end("finished", None)
        return result

    setattr(recorded_loop, _MARK, True)
    return recorded_loop  # type: ignore[return-value]


def attach() -> None:
    """Hooks the trainers of Ray Train that run a loop in each worker."""
    _guard.attach("ray.train", _attach_trainer)


def _attach_trainer() -> None:
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

    _guard.replace(DataParallelTrainer, "__init__", _recording)


def _recording(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __init__(self: Any, train_loop_per_worker: Any, *args: Any, **kwargs: Any) -> None:
        loop = train_loop_per_worker
        original(self, recorded(loop) if callable(loop) else loop, *args, **kwargs)

    return __init__
