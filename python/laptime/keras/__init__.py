"""Keras without a line of code: every `Model.fit` is a fit with its epochs, steps and stages.

Attached by the start-up hook when Keras is imported. Without `laptime run` a callback does the same for
the fits it is given to:

    model.fit(x, y, epochs=5, callbacks=[laptime.keras.Callback()])

Importing this imports no Keras; using it does.
"""

from __future__ import annotations

import threading
from typing import Any

from .. import _frameworks, _guard, _native, _passes, _session
from .._around import around
from .._passes import enter_owned, leave_owned, owned

_CHECKPOINT = _native.stage_id("checkpoint")
EVALUATE = _native.stage_id("evaluate")

# Under `laptime run` every fit is recorded; else those that were given a callback of ours.
_records_all = False


class _Here(threading.local):
    """What Keras does on the calling thread."""

    def __init__(self) -> None:
        self.fit: Any = None
        # Depth of calls of `evaluate`.
        self.evaluations = 0
        # Whether a `train_on_batch` of the script is under way.
        self.on_batch = False


here = _Here()


def attach() -> None:
    """Records every `fit` and `evaluate` of this process; the run says what cannot attach."""
    global _records_all
    _records_all = True
    _attach()


def __getattr__(name: str) -> Any:
    if name != "Callback":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()["Callback"] = _make_callback()
    return made


def _make_callback() -> type:
    import keras

    class Callback(keras.callbacks.Callback):
        """Records the fit it is given to, without `laptime run`; under it, it changes nothing."""

        def __init__(self) -> None:
            super().__init__()
            _attach()

    Callback.__module__ = __name__
    Callback.__qualname__ = "Callback"
    return Callback


def _attach() -> None:
    _guard.attach_once(
        "keras",
        ("keras", lambda: _frameworks.register("keras")),
        ("Model.fit", _attach_fit),
        ("Model.evaluate", _attach_evaluate),
        ("keras callbacks", _attach_callbacks),
        ("Model.save", _attach_save),
        ("keras loops", _attach_loops),
        *_frameworks.changes_if_asked(__name__),
    )


def _attach_callbacks() -> None:
    from . import callbacks

    callbacks.attach()


def _attach_loops() -> None:
    """Loops that a script writes itself; without `laptime run` only `fit` is recorded."""
    if _records_all:
        from . import custom_loop

        custom_loop.attach()


# Fits.


def _attach_fit() -> None:
    import keras

    _guard.replace(keras.Model, "fit", around(_enter_fit, _leave_fit))


def _enter_fit(args: Any, kwargs: Any) -> bool:
    is_outermost = here.fit is None
    if is_outermost and _records_all:
        _begin_fit(args[0])
    owned.depth += 1
    return is_outermost


def _leave_fit(was_outermost: bool) -> None:
    owned.depth -= 1
    if was_outermost:
        _end_fit()


@_guard.safely
def _begin_fit(model: Any) -> None:
    from .fit import Fit

    here.fit = Fit(model)


def _end_fit() -> None:
    ended, here.fit = here.fit, None
    if ended is not None:
        _finish(ended)


@_guard.safely
def _finish(fit: Any) -> None:
    fit.end()


# Evaluation.


def _attach_evaluate() -> None:
    import keras

    _guard.replace(keras.Model, "evaluate", around(_enter_evaluation, _leave_evaluation))
    _guard.replace(keras.Model, "predict", around(enter_owned, leave_owned))


def _enter_evaluation(args: Any, kwargs: Any) -> bool:
    is_recorded = _begin_evaluation() or False
    owned.depth += 1
    here.evaluations += 1
    return is_recorded


def _leave_evaluation(was_recorded: bool) -> None:
    owned.depth -= 1
    here.evaluations -= 1
    if was_recorded:
        _native.end_pause(EVALUATE)


@_guard.safely
def _begin_evaluation() -> bool:
    if here.fit is None and not (_records_all and _session.ensure_started()):
        return False
    _passes.settle()
    if here.fit is None or not here.fit.takes_evaluation():
        _native.begin_pause(EVALUATE)
    return True


# Saving.


def _attach_save() -> None:
    import keras

    from .callbacks import in_stage

    for name in ("save", "save_weights"):
        _guard.replace(keras.Model, name, in_stage(_CHECKPOINT, lambda _: _records_all))
