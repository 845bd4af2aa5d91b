"""LightGBM without a line of code: `train` and the scikit-learn interface, with rounds as steps and evaluation apart."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import lightgbm

from .. import _boosting, _frameworks, _guard

_attached = False

# Settings that beat `num_boost_round`, by all their names.
_ROUNDS = [
    "num_iterations",
    "num_iteration",
    "n_iter",
    "num_tree",
    "num_trees",
    "num_round",
    "num_rounds",
    "nrounds",
    "num_boost_round",
    "n_estimators",
    "max_iter",
]


def attach() -> None:
    """Attaches every hook once; the run says what cannot attach."""
    global _attached
    if _attached:
        return
    _attached = True
    _frameworks.register("lightgbm")
    _guard.attach("lightgbm.train", _attach_train)
    _guard.attach("lightgbm.Booster.update", _attach_rounds)
    _guard.attach("lightgbm.Booster.eval_valid", _attach_evaluations)


def _attach_train() -> None:
    users = [lightgbm, sys.modules.get("lightgbm.sklearn", lightgbm)]
    _boosting.replace_function(lightgbm.engine, users, "train", _boosting.make_train(_facts))


def _attach_rounds() -> None:
    _guard.replace(lightgbm.Booster, "__init__", _make_booster)
    _guard.replace(lightgbm.Booster, "update", _boosting.make_round)


def _attach_evaluations() -> None:
    for name in ("eval_train", "eval_valid"):
        _guard.replace(lightgbm.Booster, name, _boosting.make_evaluation)


def _make_booster(original: Callable[..., Any]) -> Callable[..., Any]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            original(self, *args, **kwargs)
        except BaseException as error:
            _guard.unseen(error)
            raise
        if _boosting.here.rounds is not None:
            _see_rows(self)

    return __init__


@_guard.safely
def _see_rows(booster: Any) -> None:
    """Only now is the data read: its rows were not known before."""
    data = getattr(booster, "train_set", None)
    if data is not None and _boosting.here.rounds is not None:
        _boosting.here.rounds.update(rows=data.num_data())


def _facts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    settings = _boosting.given("params", 0, args, kwargs) or {}
    rounds = _boosting.given("num_boost_round", 2, args, kwargs, 100)
    name = next((name for name in _ROUNDS if settings.get(name) is not None), "num_boost_round")
    objective = settings.get("objective")
    facts = {
        "framework": "lightgbm",
        "framework_version": lightgbm.__version__,
        "device": str(settings.get("device_type") or settings.get("device") or "cpu"),
        "objective": objective if isinstance(objective, str) else None,
    }
    if not _boosting.is_wrapped():
        facts["label"] = "lightgbm.train"
    return facts | _boosting.plan(name, settings.get(name, rounds))
