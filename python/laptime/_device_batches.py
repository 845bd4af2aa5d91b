"""Device batches: the batches of a loader, copied to a CUDA device while the one before is computed with.

The copies run on a stream of their own, from pinned memory that is used in turns.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from laptime import _native

# One is copied while the other is filled.
_SLOTS = 2


@cache
def _copy_stream(device: Any) -> Any:
    """The stream for all copies to a device: memory that was used on one is not given to another, so that a new one
    for every epoch would take more and more.
    """
    return torch.cuda.Stream(device)


class Position:
    """What the script has got of a pass, which the copies are ahead of."""

    def __init__(self, epoch: int, batch: int) -> None:
        self.epoch = epoch
        self.batch = batch

    def end(self) -> None:
        """The next batch is the first of the next epoch; to be asked again for more changes nothing."""
        if self.batch:
            self.epoch, self.batch = self.epoch + 1, 0


class _Slot:
    """Pinned memory for one batch, and the moment from which it may be written to again."""

    def __init__(self) -> None:
        self._pinned: dict[int, Any] = {}
        self._copied: Any = None

    def copy(self, batch: tuple[Any, ...], device: Any, stream: Any) -> tuple[tuple[Any, ...], Any]:
        """Starts to copy a batch; gives its arrays on the device, and the event after which they are there."""
        if self._copied is not None:
            self._copied.synchronize()
        # Memory is pinned for the device that is the current one, which this makes that of the stream.
        with torch.cuda.stream(stream):
            pinned = [self._fill(place, array) for place, array in enumerate(batch)]
            copies = tuple(array.to(device, non_blocking=True) for array in pinned)
            self._copied = stream.record_event()
        return copies, self._copied

    def _fill(self, place: int, array: Any) -> Any:
        """The array in pinned memory, which is kept for the next of at most this size."""
        kept = self._pinned.get(place)
        if kept is None or kept.numel() < array.numel():
            kept = torch.empty(array.numel(), dtype=array.dtype, pin_memory=True)
            self._pinned[place] = kept
        return kept[: array.numel()].view(array.shape).copy_(array)


class DeviceBatches:
    """An iterator over batches on a device; one is always under way there."""

    def __init__(self, loaded: _native.PackBatches, position: Position, device: Any) -> None:
        self.loaded = loaded
        self._position = position
        # The script may make another device its current one later.
        index = torch.cuda.current_device() if device.index is None else device.index
        self._device = torch.device("cuda", index)
        self._stream = _copy_stream(self._device)
        self._slots = [_Slot() for _ in range(_SLOTS)]
        self._turn = 0
        self._ahead: tuple[tuple[Any, ...], Any] | None = None
        self._ended = False

    def __iter__(self) -> DeviceBatches:
        return self

    def __next__(self) -> tuple[Any, ...]:
        # A batch that cannot be loaded must not take with it the one before, which is kept until it is handed out.
        self._ahead = ready = self._ahead or self._start_copy()
        if ready is None:
            self._position.end()
            raise StopIteration
        self._ahead = self._start_copy()
        self._position.batch += 1
        arrays, copied = ready
        current = torch.cuda.current_stream(self._device)
        current.wait_event(copied)
        for array in arrays:
            # Its memory was allocated on our stream, and must not be used anew before that of the script is done.
            array.record_stream(current)
        return arrays

    def _start_copy(self) -> tuple[tuple[Any, ...], Any] | None:
        if self._ended:
            return None
        batch = next(self.loaded, None)
        if batch is None:
            self._ended = True
            return None
        self._turn = (self._turn + 1) % _SLOTS
        return self._slots[self._turn].copy(batch, self._device, self._stream)
