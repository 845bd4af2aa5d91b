"""Loading: what a batch takes to load, wherever it is loaded, and how much of that is computing.

Some batches are timed, the others are left alone: even a Python function that does nothing takes several
microseconds in a loop where PyTorch has emptied the caches. Whether loading computes or waits decides how many
workers are worth their CPUs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from .. import _guard, _native

# In a worker, as in the training process: the first batch of a pass pays for cold caches.
_EVERY, _FIRST = 32, 1

# When a batch began: wall time, then CPU time of the thread and its time in the queue for a CPU, ns.
_Began = tuple[int, tuple[int, int]]


@_guard.safely
def time_next_batch(fetcher: Any) -> None:
    """Counts what the next batch of a fetcher takes; after that the fetcher is as it was."""

    def fetch(*args: Any, **kwargs: Any) -> Any:
        del fetcher.fetch
        try:
            return _load_timed(fetcher, fetcher.fetch, args, kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
            raise

    fetcher.fetch = fetch


@_guard.safely
def time_some_batches(fetcher: Any) -> None:
    """Counts what some of the batches of a worker's fetcher take."""
    original, batches = fetcher.fetch, 0

    def fetch(*args: Any, **kwargs: Any) -> Any:
        nonlocal batches
        turn, batches = batches % _EVERY, batches + 1
        try:
            if turn == _FIRST:
                return _load_timed(fetcher, original, args, kwargs)
            return original(*args, **kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
            raise

    fetcher.fetch = fetch


def _load_timed(
    fetcher: Any, load: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Loads a batch and counts what that took."""
    collate = _Collate(fetcher.collate_fn)
    fetcher.collate_fn = collate
    began = _begin()
    try:
        batch = load(*args, **kwargs)
    except BaseException as error:
        _guard.hide_frame(error)
        raise
    finally:
        fetcher.collate_fn = collate.original
    if began is not None:
        _count(began, collate.took)
    return batch


class _Collate:
    """A collate function of the script that is timed, ns."""

    def __init__(self, original: Callable[..., Any]) -> None:
        self.original = original
        self.took = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter_ns()
        try:
            batch = self.original(*args, **kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        self.took += time.perf_counter_ns() - began
        return batch


@_guard.safely
def _begin() -> _Began:
    return time.perf_counter_ns(), _thread_ns()


@_guard.safely
def _count(began: _Began, collated: int) -> None:
    took, (cpu, queue) = time.perf_counter_ns() - began[0], _thread_ns()
    _native.count("loaded_batches", 1)
    _native.count("loading_ns", took)
    _native.count("loading_cpu_ns", max(cpu - began[1][0], 0))
    _native.count("loading_queue_ns", max(queue - began[1][1], 0))
    _native.count("collate_ns", collated)


def _thread_ns() -> tuple[int, int]:
    """CPU time of this thread, and the time it was ready to run and waited for a CPU.

    The file has the CPU time as of the last tick or switch, up to 4 ms ago: a worker that has just woken would seem to
    compute too little.
    """
    cpu = time.thread_time_ns()
    try:
        file = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # Not every kernel counts what waits.
        return cpu, 0
    try:
        _, queue, _ = os.read(file, 128).split()
    finally:
        os.close(file)
    return cpu, int(queue)
