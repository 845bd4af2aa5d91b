"""Epoch and stage times through a TensorBoard writer that the script already has.

Without such a writer, `laptime run --tensorboard DIR -- python train.py` needs no line of code.
"""

from __future__ import annotations

import sys
import weakref

from laptime import _native

TYPE_CHECKING = False  # Type checkers know the name; importing `typing` costs 10 ms.
if TYPE_CHECKING:
    from collections.abc import Callable

    Add = Callable[[str, float, int, float], None]

_feed: tuple[str, _native.EpochFeed] | None = None
_first_fits: weakref.WeakKeyDictionary[object, int] = weakref.WeakKeyDictionary()
"""The fit whose tags have no number in a writer: the first that it was given."""


def log(writer: object) -> int:
    """Adds the epochs that ended since the last call to a TensorBoard writer; gives how many.

        writer = SummaryWriter()       # of torch or tensorboardX, or tf.summary.create_file_writer(…)
        for epoch in range(10):
            train_one_epoch(model, loader)
            validate(model)
            laptime.tensorboard.log(writer)
        laptime.tensorboard.log(writer)

    Call it where the script adds scalars of its own, in the thread that does, and once more after the training,
    when nothing of it is open any longer. Every epoch that laptime found goes to one writer, with its number as
    the step: `laptime/epoch_time_s`, `laptime/stage/<name>_s`, `laptime/evaluate_s` (what of it is over by
    then), `laptime/samples_per_s`, `laptime/data_wait_share`, `laptime/time_left_s` and `laptime/loss`, each
    where it is known. A writer that is given a second fit gets `laptime/fit_2/…`, so that their epochs do not
    overlap. It never raises: without a run, or on another rank than 0, nothing is added, and a writer that
    fails is recorded in the run.
    """
    try:
        return _add_new_epochs(writer)
    except Exception as error:
        from laptime._guard import broken

        broken("tensorboard", error)
        return 0


def _add_new_epochs(writer: object) -> int:
    global _feed
    folder = _native.run_folder()
    if folder is None or _native.rank() != 0:
        return 0
    add = _adder(writer)
    if _feed is None or _feed[0] != folder:
        _feed = folder, _native.epoch_feed(folder)
    epochs = _feed[1].next_epochs()
    for fit, epoch, unix_s, scalars in epochs:
        first = _first_fit(writer, fit)
        for tag, value in scalars:
            if fit != first:
                tag = tag.replace("laptime/", f"laptime/fit_{fit + 1}/", 1)
            add(tag, value, epoch, unix_s)
    return len(epochs)


def _first_fit(writer: object, fit: int) -> int:
    try:
        return _first_fits.setdefault(writer, fit)
    except TypeError:  # It cannot be remembered.
        return fit


def _adder(writer: object) -> Add:
    """How a scalar is added to this kind of writer."""
    add_scalar = getattr(writer, "add_scalar", None)
    if callable(add_scalar):
        return lambda tag, value, step, unix_s: add_scalar(tag, value, step, walltime=unix_s)
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not hasattr(writer, "as_default"):
        raise TypeError(f"{type(writer).__name__} is no TensorBoard writer that laptime knows")

    def add(tag: str, value: float, step: int, _: float) -> None:
        # tf.summary takes no time: the point is at the moment it is added.
        with writer.as_default():
            tensorflow.summary.scalar(tag, value, step=step)

    return add


__all__ = ["log"]
