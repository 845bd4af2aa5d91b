"""scikit-learn without a line of code: the outermost `fit` of an estimator is a fit.

Attached by the start-up hook when scikit-learn is imported. The fits inside a pipeline or a search belong
to the one that was called. Nothing is known of what happens inside, so a fit has one stage and no epochs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from sklearn import base

from . import _guard, _native, _session

_attached = False


class _Here(threading.local):
    def __init__(self) -> None:
        self.depth = 0


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
    fit = vars(kind).get("fit")
    if callable(fit) and not getattr(fit, "_laptime", False):
        _guard.replace(kind, "fit", _make_fit)


def _make_fit(original: Callable[..., Any]) -> Callable[..., Any]:
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        ours = not here.depth and _begin(self, args, kwargs)
        here.depth += 1
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        finally:
            here.depth -= 1
            if ours:
                _end()

    return fit


_STAGE = "fit"


@_guard.safely
def _begin(estimator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    _session.ensure_started()
    if _native.fit_is_open() or _native.in_training():
        # Part of a training that is under way, such as a scaler or a probe of its features.
        return False
    data = args[0] if args else kwargs.get("X")
    facts = {"framework": "sklearn", "label": type(estimator).__name__}
    shape = getattr(data, "shape", None)
    rows = shape[0] if shape else (len(data) if isinstance(data, (list, tuple)) else None)
    _native.fit_begin(facts | {"rows": rows})
    _native.enter(_native.stage_id(_STAGE))
    return True


@_guard.safely
def _end() -> None:
    _native.exit(_native.stage_id(_STAGE))
    _native.fit_end()
