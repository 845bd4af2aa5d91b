"""What is measured: an entry is one loader of one group, with the modules that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sets import Sets

Batch = tuple[Any, Any]


@dataclass(frozen=True)
class Setting:
    """What an entry runs with: the sets, and how many threads or worker processes it may use."""

    sets: Sets
    threads: int
    seconds: float


@dataclass(frozen=True)
class Entry:
    """One loader: `batches` goes on for ever over shuffled epochs, or `task` is done once and says what it read."""

    key: str
    name: str
    needs: tuple[str, ...]
    batches: Callable[[Setting], Iterator[Batch]] | None = None
    rate: Callable[[Setting], float] | None = None
    task: Callable[[Setting], Task] | None = None
    prepare: Callable[[Setting], object] | None = None
    serial: bool = False  # one thread or process, however many it might have

    def concurrency(self, threads: int) -> int:
        return 1 if self.serial else threads


@dataclass(frozen=True)
class Task:
    """Something that is done once and timed, and what is looked at afterwards."""

    work: Callable[[], Any]
    amount: float  # megabytes or images
    check: Callable[[Any], str]


@dataclass
class Entries:
    """The entries of a group, by key, in the order of the table."""

    known: dict[str, Entry] = field(default_factory=dict)

    def loader(self, name: str, *needs: str, **more: Any) -> Callable:
        """Adds a function that yields batches for ever."""
        return self._adder("batches", name, needs, more)

    def limit(self, name: str, *needs: str, **more: Any) -> Callable:
        """Adds a function that measures its own rate, in samples a second."""
        return self._adder("rate", name, needs, more)

    def task(self, name: str, *needs: str, **more: Any) -> Callable:
        """Adds a function that returns something to do once."""
        return self._adder("task", name, needs, more)

    def _adder(
        self, kind: str, name: str, needs: tuple[str, ...], more: dict[str, Any]
    ) -> Callable:
        def add(function: Callable) -> Callable:
            key = function.__name__
            self.known[key] = Entry(key, name, needs, **{kind: function}, **more)
            return function

        return add
