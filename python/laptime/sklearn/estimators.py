"""Estimators: each class has methods of its own, which are hooked when the class is made."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

from sklearn import base

from .. import _guard
from . import fits, iterations, partial_fit, searches


def attach() -> None:
    """Hooks the estimators there are and those to come."""
    original = base.BaseEstimator.__dict__.get("__init_subclass__")

    def __init_subclass__(cls: type, **kwargs: Any) -> None:
        if original is not None:
            original.__func__(cls, **kwargs)
        else:
            super(base.BaseEstimator, cls).__init_subclass__(**kwargs)
        _hook(cls)

    base.BaseEstimator.__init_subclass__ = classmethod(__init_subclass__)  # type: ignore[assignment]
    mixin = getattr(base, "TransformerMixin", None)
    if hasattr(mixin, "fit_transform"):
        _guard.replace(mixin, "fit_transform", fits.make_fit)
    waiting = [base.BaseEstimator]
    while waiting:
        kind = waiting.pop()
        _hook(kind)
        waiting.extend(kind.__subclasses__())


# How the methods of an estimator are hooked.
_METHODS = (
    ("fit", fits.make_fit),
    ("fit_transform", fits.make_fit),
    ("partial_fit", partial_fit.make_partial_fit),
    *iterations.METHODS,
)


@_guard.safely
def _hook(kind: type) -> None:
    for name, make in _METHODS:
        if isinstance(vars(kind).get(name), FunctionType):
            _guard.replace(kind, name, make)
    if kind.__module__.startswith("sklearn.model_selection"):
        # Its classes are made before its functions are handed out.
        _hook_searches()


def _hook_searches() -> None:
    validation = sys.modules.get("sklearn.model_selection._validation")
    search = sys.modules.get("sklearn.model_selection._search")
    if validation is None:
        return
    for name in searches.VALIDATIONS:
        if hasattr(validation, name):
            _guard.replace(validation, name, searches.make_validation)
    for name, make in (
        ("_fit_and_score", searches.make_candidate),
        ("_score", searches.make_score),
    ):
        _replace_in_both(validation, search, name, make)


def _replace_in_both(home: ModuleType, user: ModuleType | None, name: str, make: Any) -> None:
    """Replaces a function where it is and where it was imported to: workers find it by its home."""
    original = getattr(home, name, None)
    if original is None:
        return
    _guard.replace(home, name, make)
    replaced = getattr(home, name)
    if user is not None and getattr(user, name, None) is getattr(replaced, "__wrapped__", original):
        setattr(user, name, replaced)
