"""Loading: what a batch takes to load, wherever it is loaded, and how much of that is computing.

Every 32nd batch is timed, and one at the begin of each pass. Whether loading computes or waits decides how many workers are worth their CPUs.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from typing import Any

from .. import _guard, _native

# Two looks at a thread's counters take about 10 µs.
_EVERY = 32
# The first batch of a pass pays for cold caches.
_FIRST = 1


@_guard.safely
def time_loading(fetcher: Any, is_training: Callable[[], bool]) -> None:
    """Counts what some batches of a fetcher take, of those it loads while `is_training`."""
    loading = _Loading(fetcher, is_training)
    fetcher.fetch, fetcher.collate_fn = loading.fetch, loading.collate


class _Loading:
    """The loading of one fetcher."""

    def __init__(self, fetcher: Any, is_training: Callable[[], bool]) -> None:
        # The fetcher must go with its iterator, and with it the files of an iterable dataset: no cycle.
        self.fetcher = weakref.ref(fetcher)
        self.original_fetch, self.original_collate = type(fetcher).fetch, fetcher.collate_fn
        self.is_training = is_training
        self.batches = 0
        # Nanoseconds of the batch that is timed; `None` between those.
        self.collated: int | None = None

    def fetch(self, *args: Any, **kwargs: Any) -> Any:
        turn = self.batches % _EVERY
        self.batches += 1
        began = self._begin() if turn == _FIRST else None
        try:
            batch = self.original_fetch(self.fetcher(), *args, **kwargs)
        except BaseException as error:
            self.collated = None
            _guard.hide_frame(error)
            raise
        if began is not None:
            self._count(began)
        return batch

    def collate(self, *args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter_ns() if self.collated is not None else 0
        try:
            batch = self.original_collate(*args, **kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        if self.collated is not None:
            self.collated += time.perf_counter_ns() - began
        return batch

    @_guard.safely
    def _begin(self) -> tuple[int, tuple[int, int]] | None:
        if not self.is_training():
            return None
        self.collated = 0
        return time.perf_counter_ns(), _thread_ns()

    @_guard.safely
    def _count(self, began: tuple[int, tuple[int, int]]) -> None:
        took, (cpu, queue) = time.perf_counter_ns() - began[0], _thread_ns()
        collated, self.collated = self.collated or 0, None
        _native.count("loaded_batches", 1)
        _native.count("loading_ns", took)
        _native.count("loading_cpu_ns", max(cpu - began[1][0], 0))
        _native.count("loading_queue_ns", max(queue - began[1][1], 0))
        _native.count("collate_ns", collated)


def _thread_ns() -> tuple[int, int]:
    """CPU time of this thread, and the time it was ready to run and waited for a CPU."""
    try:
        file = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # Not every kernel counts what waits.
        return time.thread_time_ns(), 0
    try:
        cpu, queue, _ = os.read(file, 128).split()
    finally:
        os.close(file)
    return int(cpu), int(queue)
