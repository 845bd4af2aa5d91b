"""Loader: the batches of a pack, read by threads of its own and handed out without a copy.

    loader = laptime.Loader("train.pack", batch_size=256, shuffle=True, seed=0)
    for x, y in loader:
        ...

It stands where a `DataLoader` stands: each `for` is one epoch, with an order of its own that depends on the seed and
the epoch alone. `docs/loader.md` has the rest.
"""

from __future__ import annotations

import os
import sys
from array import array
from hashlib import blake2b
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Self

from laptime import _native
from laptime._native import DamagedPackError as DamagedPackError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from laptime._device_batches import Position
    from laptime.image import Transform

    Samples = range | Sequence[int]
    Normalize = Literal["imagenet"] | tuple[Sequence[float], Sequence[float]]

# What the state of a loader is called by, so that another library's is not taken for it.
_STATE = "laptime.loader/1"

# Batches that are loaded ahead, in bytes; a batch that is larger is loaded all the same.
_PREFETCH_BYTES = 256 << 20


class Rows:
    """What a loader reads: the `dataset` that PyTorch's libraries ask a loader for."""

    __slots__ = ("_rows", "columns", "path")

    def __init__(self, path: str, rows: int, columns: tuple[str, ...]) -> None:
        self.path = path
        self.columns = columns
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        return (
            f"<laptime.loader.Rows {self.path!r}: {self._rows} rows of {', '.join(self.columns)}>"
        )


class Named:
    """A pass whose batches are dictionaries."""

    __slots__ = ("_batches", "_names", "loaded")

    def __init__(
        self, batches: Iterator[tuple[Any, ...]], loaded: object, names: tuple[str, ...]
    ) -> None:
        # What is put on record.
        self.loaded = loaded
        self._batches = batches
        self._names = names

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> dict[str, Any]:
        return dict(zip(self._names, next(self._batches), strict=True))


class Loader:
    """The batches of a pack: each `for` over it is one epoch.

    A batch is a tuple with one array for each column, in the order of the pack, or of `columns`; with `as_dict` a
    dictionary by their names. It stays valid, and its own, for as long as anything refers to it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        batch_size: int = 256,
        shuffle: bool | Literal["window"] = False,
        seed: int = 0,
        *,
        drop_last: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
        threads: int | None = None,
        prefetch_bytes: int = _PREFETCH_BYTES,
        verify: bool = True,
        subset: Samples | None = None,
        columns: Sequence[str] | None = None,
        as_dict: bool = False,
        transform: Transform | None = None,
        normalize: Normalize | None = None,
        pad_value: float = 0,
        output: Literal["torch", "numpy", "dlpack"] | None = None,
        device: Any = None,
        warn_after: float = 30,
        fail_after: float = 300,
    ) -> None:
        if normalize is not None and transform is None:
            raise ValueError("normalize needs a transform, such as laptime.image.resize(224)")
        self._device = _device(device)
        rank, world_size = _place(rank, world_size)
        options: dict[str, Any] = {
            "batch_size": _whole("batch_size", batch_size, 1),
            "shuffle": _shuffle(shuffle),
            "seed": _whole("seed", seed, 0),
            "drop_last": bool(drop_last),
            "rank": rank,
            "world_size": world_size,
            "threads": None if threads is None else _whole("threads", threads, 0),
            "prefetch_bytes": _whole("prefetch_bytes", prefetch_bytes, 0),
            "verify": bool(verify),
            "subset": _subset(subset),
            "columns": None if columns is None else list(columns),
            "transform": transform,
            "normalize": _normalize(normalize),
            "pad_value": float(pad_value),
            "warn_after": _seconds("warn_after", warn_after),
            "fail_after": _seconds("fail_after", fail_after),
            "output": _output(output, self._device),
        }
        self.output = options["output"]
        self._native: _native.PackLoader | None = _native.PackLoader(os.fspath(path), options)
        self.path = os.fspath(path)
        self.batch_size = batch_size
        self.drop_last = bool(drop_last)
        self.rank = rank
        self.world_size = world_size
        self.as_dict = bool(as_dict)
        self.columns: tuple[str, ...] = tuple(name for name, _, _ in self._native.columns)
        self.rows: int = self._native.rows
        chosen = _compact(options["subset"])
        # What the order of the rows depends on, besides the epoch; but not the rank, since one writes the state of all.
        names = ("batch_size", "shuffle", "seed", "drop_last", "world_size")
        self._order = {name: options[name] for name in names} | {
            "subset": _named(chosen),
            "pack": self._native.pack,
        }
        # What another process makes the same loader with.
        self._given = options | {
            "shuffle": shuffle,
            "subset": chosen,
            "as_dict": self.as_dict,
            "device": device,
        }
        # The epoch and the batch that the next pass begins with, and whether one has begun since that was set.
        self._next = (0, 0)
        self._begun = False
        self._on_device: Position | None = None

    def __len__(self) -> int:
        """The batches of an epoch, for this rank."""
        return self._open().batches

    def __iter__(self) -> Iterator[Any]:
        """Begins the next epoch, or goes on where `load_state_dict` said."""
        return self._begin()

    def _begin(self) -> Iterator[Any]:
        """The same where the pass is another library's: hooks put those of `__iter__` on record."""
        self._settle()
        epoch, batch = self._next
        loaded = self._open().begin(epoch, batch)
        self._next, self._begun = (epoch + 1, 0), True
        batches: Iterator[tuple[Any, ...]] = loaded
        if self._device is not None:
            from laptime._device_batches import DeviceBatches, Position

            self._on_device = Position(epoch, batch)
            batches = DeviceBatches(loaded, self._on_device, self._device)
        return Named(batches, loaded, self.columns) if self.as_dict else batches

    def __repr__(self) -> str:
        return f"<laptime.Loader {self.path!r}: {self.rows} rows in batches of {self.batch_size}>"

    @property
    def dataset(self) -> Rows:
        """The rows that are read, of which PyTorch's libraries ask the length."""
        return Rows(self.path, self.rows, self.columns)

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch begins next; without it one follows the other.

        The epoch that `load_state_dict` has set goes on where it was left.
        """
        self._settle()
        if epoch != self._next[0] or self._begun:
            self._next = (_whole("epoch", epoch, 0), 0)
        self._begun = False

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is: with this, `load_state_dict` goes on with the batch that comes next."""
        epoch, batch = self._position()
        return {"kind": _STATE, "epoch": epoch, "batch": batch, **self._order}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where another loader, of the same pack with the same options, was when `state` was taken."""
        if state.get("kind") != _STATE:
            raise ValueError(
                f"state is what a laptime.Loader's state_dict() gives, not {state!r:.80}"
            )
        for name, value in self._order.items():
            if state.get(name) != value:
                raise ValueError(
                    f"the state is of a loader with {name}={state.get(name)!r}, and this one has "
                    f"{name}={value!r}: its batches would be others"
                )
        self._next = (_whole("epoch", state["epoch"], 0), _whole("batch", state["batch"], 0))
        self._begun = False

    def as_tf_dataset(self) -> Any:
        """A `tf.data.Dataset` of the same batches, for Keras' `fit` and TensorFlow's loops; each pass is an epoch.

        One that `load_state_dict` has set within an epoch gives the rest of it first, and does not know its length.
        """
        if self.output != "numpy":
            raise ValueError(f'output is "numpy" for TensorFlow, not {self.output!r}')
        import tensorflow as tf

        is_whole = self._next[1] == 0

        def begin() -> Iterator[Any]:
            if is_whole and self._next[1]:
                raise ValueError("as_tf_dataset() is called after load_state_dict(), not before it")
            return self._begin()

        arrays = self._open().columns
        specs = [tf.TensorSpec((None, *shape), dtype) for _, dtype, shape in arrays]
        signature = dict(zip(self.columns, specs, strict=True)) if self.as_dict else tuple(specs)
        batches = tf.data.Dataset.from_generator(begin, output_signature=signature)
        if is_whole:
            batches = batches.apply(tf.data.experimental.assert_cardinality(len(self)))
        return batches.prefetch(tf.data.AUTOTUNE)

    def close(self) -> None:
        """Ends the loader's threads; batches that were handed out stay valid."""
        self._native = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy, here or in a process that was spawned, opens the pack itself.
        self._open()
        return _again, (type(self), self.path, self._given, self._position())

    def _settle(self) -> None:
        """Takes back a pass that went before its first batch: libraries begin some only to see whether they can."""
        if self._begun and self._open().is_unused:
            self._next, self._begun = self._open().position, False

    def _position(self) -> tuple[int, int]:
        """The epoch and the number of the batch that come next."""
        if not self._begun:
            return self._next
        if self._on_device is not None:
            return self._on_device.epoch, self._on_device.batch
        return self._open().position

    def _open(self) -> _native.PackLoader:
        if self._native is None:
            raise ValueError(f"the loader of {self.path!r} is closed")
        return self._native


def _again(
    kind: type[Loader], path: str, given: dict[str, Any], position: tuple[int, int]
) -> Loader:
    """The copy of a loader, which goes on where that was."""
    loader = kind(path, **given)
    loader._next = position
    return loader


def _whole(name: str, value: Any, least: int) -> int:
    """A whole number that is not too small."""
    try:
        number = int(value.__index__())
    except (AttributeError, TypeError):
        number = least - 1
    if not least <= number < 1 << 64:
        raise ValueError(f"{name} is a whole number from {least} on, not {value!r}")
    return number


def _seconds(name: str, value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    if not seconds > 0:
        raise ValueError(f"{name} is a number of seconds, not {value!r}")
    return seconds


def _shuffle(value: Any) -> str:
    known = {False: "none", True: "exact", "window": "window"}
    try:
        return known[value]
    except (KeyError, TypeError):
        raise ValueError(f'shuffle is True, False or "window", not {value!r}') from None


def _subset(samples: Any) -> tuple[int, int] | list[int] | None:
    """The first sample and the one after the last, or a list of samples."""
    if samples is None:
        return None
    if isinstance(samples, range) and samples.step == 1 and 0 <= samples.start <= samples.stop:
        return samples.start, samples.stop
    try:
        return [_whole("subset", sample, 0) for sample in samples]
    except TypeError:
        raise ValueError(f"subset is a range or a list of samples, not {samples!r:.80}") from None


def _compact(subset: tuple[int, int] | list[int] | None) -> range | array[int] | None:
    """A subset to keep: a list of numbers takes five times the memory."""
    if subset is None:
        return None
    return range(*subset) if isinstance(subset, tuple) else array("Q", subset)


def _named(subset: range | array[int] | None) -> str | None:
    """What tells one subset from another; a list may be long, and is not kept in a state."""
    if subset is None or isinstance(subset, range):
        return None if subset is None else f"{subset.start} to {subset.stop}"
    return f"{len(subset)} listed ({blake2b(subset.tobytes(), digest_size=8).hexdigest()})"


def _normalize(value: Any) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """The mean and the standard deviation of each channel, from 0 to 1."""
    if value is None:
        return None
    if isinstance(value, str) and value == "imagenet":
        from laptime.image import IMAGENET

        return IMAGENET
    try:
        mean, deviation = (tuple(float(number) for number in part) for part in value)
        if len(mean) == len(deviation) == 3 and all(number > 0 for number in deviation):
            return mean, deviation
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f'normalize is "imagenet" or (mean, standard deviation) of 3 channels each, not {value!r}'
    )


def _place(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """The rank of this process and the number of them: as given, or as PyTorch or its launcher says."""
    if (rank is None) != (world_size is None):
        raise ValueError("rank and world_size are given together, or neither is")
    if rank is not None and world_size is not None:
        place = _whole("rank", rank, 0), _whole("world_size", world_size, 1)
        if place[0] >= place[1]:
            raise ValueError(f"rank is below world_size, {place[1]}, and not {place[0]}")
        return place
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    try:
        found = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return 0, 1
    return found if 0 <= found[0] < found[1] else (0, 1)


def _output(name: str | None, device: Any) -> str:
    """What batches are handed out as, where nothing is said: what the script's framework takes."""
    if device is not None and name not in (None, "torch"):
        raise ValueError(f'output is "torch" where a device is given, not {name!r}')
    if name is not None:
        if name not in ("torch", "numpy", "dlpack"):
            raise ValueError(f'output is "torch", "numpy" or "dlpack", not {name!r}')
        return name
    if "torch" in sys.modules or device is not None:
        return "torch"
    # A script that has imported another framework has no use for torch, even where it is installed.
    other = any(framework in sys.modules for framework in ("tensorflow", "jax"))
    return "torch" if not other and find_spec("torch") is not None else "numpy"


def _device(device: Any) -> Any:
    """The device to copy to; `None` for the CPU, where batches are already."""
    if device is None or str(device) == "cpu":
        return None
    import torch

    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f'device is "cpu" or "cuda", or one of several as "cuda:1", not {device!r}'
        ) from error
    if wanted.type != "cuda":
        raise ValueError(
            f'device is "cpu" or "cuda", or one of several as "cuda:1", not {device!r}'
        )
    if not torch.cuda.is_available():
        raise ValueError(f"device is {device!r}, and PyTorch finds no CUDA device here")
    found = torch.cuda.device_count()
    if wanted.index is not None and wanted.index >= found:
        raise ValueError(f"device is {device!r}, and there are only {found} CUDA devices here")
    return wanted
