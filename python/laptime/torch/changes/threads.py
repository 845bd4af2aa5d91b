"""Threads: how many torch computes with, whatever the script asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import get_worker_info

from ... import _changes


def attach() -> None:
    """Sets the number now, and keeps it."""
    threads = _changes.number("threads")
    if threads is None:
        return None
    if threads == 0:
        return _changes.refused("threads", "at least one thread is needed")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    _changes.wrap(torch, "set_num_threads", _make_set(threads))
    _changes.applied("threads", before, threads)


def _make_set(threads: int) -> Callable[[Callable[[int], None]], Callable[[int], None]]:
    def make(original: Callable[[int], None]) -> Callable[[int], None]:
        def set_num_threads(int: Any) -> None:
            # A worker of a loader has one thread unless the script gives it more.
            original(min(int, threads) if get_worker_info() is not None else threads)

        return set_num_threads

    return make
