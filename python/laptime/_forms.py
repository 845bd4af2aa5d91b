"""The forms in which a training says what it does: stages, batches, epochs."""

from __future__ import annotations

from laptime import _native
from laptime._session import ensure_armed, ensure_started

TYPE_CHECKING = False  # Type checkers know the name; importing `typing` costs 10 ms.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Generic, TypeVar

    T = TypeVar("T")

    class _Of(Generic[T]):
        pass
else:
    T = None

    class _Of:
        __slots__ = ()

        def __class_getitem__(cls, item: object) -> type:
            return cls


_stages: dict[str, _native.Stage] = {}


def stage(name: str) -> _native.Stage:
    """The stage with this name, a context manager and a decorator in one.

        augment = laptime.stage("augment")

        with augment:
            ...

        @laptime.stage("preprocess")
        def preprocess(x): ...

    Hold on to it where it is used often: looking it up costs as much as timing a block.
    """
    known = _stages.get(name)
    if known is None:
        ensure_armed()
        known = _stages.setdefault(name, _native.new_stage(name))
    return known


class Batches(_Of[T]):
    """An iterable whose waits are `data_wait` and whose turns are steps."""

    __slots__ = ("_iterable", "_samples")

    def __init__(
        self, iterable: Iterable[T], samples: int | Callable[[T], int] | None = None
    ) -> None:
        self._iterable = iterable
        self._samples = samples

    def __iter__(self) -> Iterator[T]:
        ensure_started()
        return _native.batch_iterator(self._iterable, self._samples)

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        # `loader.dataset` and the like are the iterable's.
        return getattr(self._iterable, name)


def batches(
    iterable: Iterable[T], *, samples: int | Callable[[T], int] | None = None
) -> Batches[T]:
    """Iterates the batches of a training loop: keeps `len()`, works on any iterable.

    Each wait for a batch is `data_wait`, each turn of the loop a step. A pass outside `epochs` is an epoch;
    inside a stage named `evaluate` it is part of that. `samples` says how many samples a batch has, where
    its first array does not.
    """
    return Batches(iterable, samples)


class Epochs:
    """A range of epochs, each recorded as one."""

    __slots__ = ("_facts", "_range")

    def __init__(self, count: int, facts: dict[str, object]) -> None:
        self._range = range(count)
        self._facts = {"epochs": len(self._range), **facts}

    def __len__(self) -> int:
        return len(self._range)

    def __iter__(self) -> Iterator[int]:
        ensure_started()
        _native.fit_begin(self._facts)
        try:
            for epoch in self._range:
                _native.epoch_begin()
                try:
                    yield epoch
                finally:
                    _native.epoch_end()
        finally:
            _native.fit_end()


def epochs(count: int, **facts: object) -> Epochs:
    """Counts epochs from 0 and records each: `for epoch in laptime.epochs(10):`.

    What else is known of the training may be given by name: `label`, `rows`, `batch`, `parameters`, ….
    """
    return Epochs(count, facts)


__all__ = ["Batches", "Epochs", "batches", "epochs", "stage"]
