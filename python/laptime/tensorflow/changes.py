"""What laptime can change in a TensorFlow script that it runs: threads, and `tf.data`; `docs/changes.md` has the list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from .. import _changes, _guard
from .data import is_scripts

_NO_DATA = "no tf.data was trained on"
_NO_MAP = "no map of a tf.data was made that is not parallel"
_HAS_IT = "the script does so already"

# Operations that give something else each time; those whose names begin with `Stateless` do not.
_RANDOM = ("Random", "Rng", "Multinomial", "TruncatedNormal", "SampleDistorted", "Stateful")
_PYTHON = ("PyFunc", "EagerPyFunc")
_WRITES = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")

# A dataset has what it was changed into under this name: a cache is of use only to whoever keeps it.
_CHANGED = "_laptime_changed"


def attach() -> None:
    """Attaches what makes the changes that are asked for."""
    _changes.attach_each(
        {
            "threads": (_limit_threads, "TensorFlow has begun to compute"),
            "parallel_map": (_attach_map, _NO_MAP),
            "cache": (_attach_cache, _NO_DATA),
            "prefetch": (_attach_passes, _NO_DATA),
            "repeat_batch": (_attach_passes, _NO_DATA),
        }
    )


def _limit_threads() -> None:
    threads = _changes.number("threads")
    if threads is None:
        return
    threading = tf.config.threading
    before = threading.get_intra_op_parallelism_threads()
    # Raises once TensorFlow has begun to compute.
    threading.set_intra_op_parallelism_threads(threads)
    threading.set_inter_op_parallelism_threads(threads)
    _changes.applied("threads", before, threads)


# Maps.


def _attach_map() -> None:
    if _changes.is_on("parallel_map"):
        _changes.wrap(tf.data.Dataset, "map", _make_map)


def _make_map(original: Callable[..., Any]) -> Callable[..., Any]:
    # Named arguments, as TensorFlow's own.
    def map(self: Any, map_func: Any, num_parallel_calls: Any = None, **kwargs: Any) -> Any:
        if num_parallel_calls is None and not kwargs.get("synchronous") and is_scripts():
            made = _parallel(original, self, map_func, kwargs)
            if made is not None:
                return made
        return original(self, map_func, num_parallel_calls, **kwargs)

    return map


@_guard.safely
def _parallel(original: Callable[..., Any], dataset: Any, function: Any, kwargs: Any) -> Any:
    try:
        made = original(dataset, function, tf.data.AUTOTUNE, **kwargs)
    except Exception:
        # The script's own map is to fail, if it does.
        return None
    because = _why_not_pure(made)
    if because:
        _changes.refused("parallel_map", because)
        return None
    _changes.applied("parallel_map", 1, "AUTOTUNE")
    return made


def _why_not_pure(dataset: Any) -> str | None:
    """Why a function of a dataset may not be called in another order, or less often; `None` when it may."""
    for function in dataset._functions():
        for name in _operations(function.function.graph):
            if name in _PYTHON:
                return "a map calls Python, which may give something else each time"
            if name in _WRITES:
                return "a map keeps a state"
            if name.startswith(_RANDOM):
                return "a map draws random numbers"
    return None


def _operations(graph: Any) -> Iterator[str]:
    definition = graph.as_graph_def()
    yield from (node.op for node in definition.node)
    for function in definition.library.function:
        yield from (node.op for node in function.node_def)


# Caches.


def _attach_cache() -> None:
    if _changes.is_on("cache"):
        # What is shuffled anew in each epoch must be cached before.
        _changes.wrap(tf.data.Dataset, "shuffle", _make_shuffle)
        _attach_passes()


def _make_shuffle(original: Callable[..., Any]) -> Callable[..., Any]:
    def shuffle(self: Any, *args: Any, **kwargs: Any) -> Any:
        cached = _cached(self) if is_scripts() else None
        return original(self if cached is None else cached, *args, **kwargs)

    return shuffle


@_guard.safely
def _cached(dataset: Any) -> Any:
    because = _why_no_cache(dataset)
    if because:
        _changes.refused("cache", because)
        return None
    _changes.applied("cache", 0, 1)
    return dataset.cache()


def _why_no_cache(dataset: Any) -> str | None:
    above = list(_above(dataset))
    kinds = " ".join(type(one).__name__ for one in above)
    if "Cache" in kinds:
        return _HAS_IT
    if "Shuffle" in kinds or "Random" in kinds:
        return "the data is shuffled before"
    if "Repeat" in kinds or int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY:
        return "the data is repeated before"
    return next(filter(None, (_why_not_pure(one) for one in above)), None)


def _above(dataset: Any) -> Iterator[Any]:
    """A dataset, and all that it is made of."""
    yield dataset
    for one in dataset._inputs():
        yield from _above(one)


# Passes that train.


_is_attached = False


def _attach_passes() -> None:
    global _is_attached
    if not _is_attached:
        _is_attached = True
        _changes.wrap(tf.data.Dataset, "__iter__", _make_iter)


def _make_iter(original: Callable[..., Any]) -> Callable[..., Any]:
    def __iter__(self: Any) -> Any:
        return original(changed(self) if is_scripts() else self)

    return __iter__


def changed(dataset: Any, steps: int | None = None) -> Any:
    """The dataset as it is to be trained on; `steps` is how many batches of it make an epoch, if that is given."""
    known = dataset.__dict__.get(_CHANGED)
    if known is None:
        known = _change(dataset, steps)
        known = dataset if known is None else known
        dataset.__dict__[_CHANGED] = known
        known.__dict__[_CHANGED] = known
    return known


@_guard.safely
def _change(dataset: Any, steps: int | None) -> Any:
    made = dataset
    if _changes.switch("cache") and not _changes.is_applied("cache"):
        cached = _cached(made)
        made = made if cached is None else cached
    if _changes.switch("repeat_batch"):
        made = _repeated(made, steps)
    if _changes.is_on("prefetch"):
        made = _prefetched(made)
    return made


def _repeated(dataset: Any, steps: int | None) -> Any:
    batches = int(dataset.cardinality())
    if steps is None and batches == tf.data.UNKNOWN_CARDINALITY:
        _changes.refused("repeat_batch", "the number of batches is not known")
        return dataset
    _changes.applied("repeat_batch", 0, 1)
    first = dataset.take(1).cache()
    return first.repeat(batches) if batches >= 0 else first.repeat()


def _prefetched(dataset: Any) -> Any:
    outermost = dataset
    while type(outermost).__name__.lstrip("_") == "OptionsDataset":
        outermost = outermost._inputs()[0]
    if "Prefetch" in type(outermost).__name__:
        _changes.refused("prefetch", _HAS_IT)
        return dataset
    _changes.applied("prefetch", 0, "AUTOTUNE")
    return dataset.prefetch(tf.data.AUTOTUNE)
