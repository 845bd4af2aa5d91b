"""scikit-learn without a line of code: a model's outermost `fit` is a fit, and so is a loop of `partial_fit`.

Attached by the start-up hook when scikit-learn is imported. What is fitted inside a pipeline, a search or a
cross-validation belongs to the one that was called, on whatever thread or in whatever process of its pool.
Encoders, scalers and other estimators that only transform train nothing. Nothing is known of what happens inside
a `fit`, so it has one stage and no epochs; a `partial_fit` is a step.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import sklearn
from sklearn import base

from .. import _frameworks, _guard, _native, _session, _training
from .._native import UPDATE_UNSETTLED
from .._samples import samples_of

_FIT = _native.stage_id("fit")
_PARTIAL_FIT = _native.stage_id("partial_fit")

# Functions that fit copies of an estimator to many parts of the data.
_VALIDATIONS = (
    "cross_validate",
    "cross_val_predict",
    "learning_curve",
    "permutation_test_score",
    "validation_curve",
)

_attached = False
# Fits of this process that are under way: what is fitted on threads of a pool meanwhile is part of them.
_under_way = 0


class _Here(threading.local):
    def __init__(self) -> None:
        self.depth = 0
        # When the training of the newest `partial_fit` began.
        self.began: int | None = None


here = _Here()


def attach() -> None:
    """Times the outermost `fit` of every estimator; what cannot attach is told in the run."""
    global _attached
    if _attached:
        return
    _attached = True
    _guard.attach("BaseEstimator.fit", _attach_estimators)


def _attach_estimators() -> None:
    """Estimators have a `fit` each, so every class gets its own wrapped when it is made."""
    original = base.BaseEstimator.__dict__.get("__init_subclass__")
    _frameworks.register("sklearn", optimizers=(base.BaseEstimator, _facts))

    def __init_subclass__(cls: type, **kwargs: Any) -> None:
        if original is not None:
            original.__func__(cls, **kwargs)
        else:
            super(base.BaseEstimator, cls).__init_subclass__(**kwargs)
        _hook(cls)

    base.BaseEstimator.__init_subclass__ = classmethod(__init_subclass__)  # type: ignore[assignment]
    waiting = [base.BaseEstimator]
    while waiting:
        kind = waiting.pop()
        _hook(kind)
        waiting.extend(kind.__subclasses__())


@_guard.safely
def _hook(kind: type) -> None:
    for name, make in (("fit", _make_fit), ("partial_fit", _make_partial_fit)):
        if isinstance(vars(kind).get(name), type(_hook)):
            _guard.replace(kind, name, make)
    if kind.__module__.startswith("sklearn.model_selection"):
        # Its classes are made before its functions are handed out.
        _hook_validations()


def _hook_validations() -> None:
    module = sys.modules.get("sklearn.model_selection._validation")
    for name in _VALIDATIONS:
        if hasattr(module, name):
            _guard.replace(module, name, _make_validation)


# Fits.


def _make_fit(original: Callable[..., Any]) -> Callable[..., Any]:
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        data = args[0] if args else kwargs.get("X")
        is_ours = not here.depth and _begin(self, type(self).__name__, data, sys._getframe().f_back)
        _enter()
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            _leave()
            if is_ours:
                _end()

    return fit


def _make_validation(original: Callable[..., Any]) -> Callable[..., Any]:
    name = original.__name__

    def validate(*args: Any, **kwargs: Any) -> Any:
        estimator = args[0] if args else kwargs.get("estimator")
        data = args[1] if len(args) > 1 else kwargs.get("X")
        label = f"{name}({type(estimator).__name__})"
        is_ours = not here.depth and _begin(estimator, label, data, sys._getframe().f_back)
        _enter()
        try:
            return original(*args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            _leave()
            if is_ours:
                _end()

    return validate


def _enter() -> None:
    """A call has begun; those inside it are part of it."""
    global _under_way
    here.depth += 1
    _under_way += 1


def _leave() -> None:
    global _under_way
    here.depth -= 1
    _under_way -= 1


@_guard.safely
def _begin(estimator: Any, label: str, data: Any, frame: FrameType | None) -> bool:
    if not _trains(estimator) or _is_part():
        return False
    _session.ensure_started()
    _training.here.training.leave_unless_around(frame)
    if _native.fit_is_open() or _native.in_training():
        # Part of a training that is under way, such as a probe of its features.
        return False
    shape = getattr(data, "shape", None)
    rows = shape[0] if shape else (len(data) if isinstance(data, (list, tuple)) else None)
    _native.fit_begin(_facts(estimator) | {"label": label, "rows": rows})
    _native.enter(_FIT)
    return True


@_guard.safely
def _end() -> None:
    _native.exit(_FIT)
    _native.fit_end()


def _trains(estimator: Any) -> bool:
    """Whether an estimator learns to predict; one that only transforms prepares data."""
    return any(hasattr(estimator, name) for name in ("predict", "fit_predict"))


def _is_part() -> bool:
    """Whether this thread or process does a part of a fit that another began."""
    if _under_way and threading.current_thread() is not threading.main_thread():
        return True
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and processes.current_process().name != "MainProcess"


def _facts(estimator: Any) -> dict[str, Any]:
    return {
        "framework": "sklearn",
        "framework_version": sklearn.__version__,
        "device": "cpu",
        "label": type(estimator).__name__,
    }


# Training in parts.


def _make_partial_fit(original: Callable[..., Any]) -> Callable[..., Any]:
    def partial_fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        data = args[0] if args else kwargs.get("X")
        is_ours = not here.depth and _begin_part(self, data, sys._getframe().f_back)
        here.depth += 1
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            here.depth -= 1
            if is_ours:
                _end_part(self)

    return partial_fit


@_guard.safely
def _begin_part(estimator: Any, data: Any, frame: FrameType | None) -> bool:
    """A step of an estimator that is its own optimizer."""
    if not _trains(estimator) or _is_part() or _native.is_inside():
        return False
    _session.ensure_started()
    training = _training.here.training
    if _native.in_training() and training.fit_began != here.began:
        training.leave_unless_around(frame)
    is_others = _native.in_training() and training.fit_began != here.began
    if is_others or (_native.fit_is_open() and not _native.in_training()):
        return False
    _native.begin_function(_PARTIAL_FIT, True)
    _native.take_samples(samples_of(data))
    if _native.begin_compiled_update(estimator) == UPDATE_UNSETTLED:
        training.remember(estimator)
        training.settle_update(estimator, frame)
        here.began = training.fit_began
    return True


@_guard.safely
def _end_part(estimator: Any) -> None:
    _native.end_function(_PARTIAL_FIT)
    _native.end_compiled_update(estimator)
