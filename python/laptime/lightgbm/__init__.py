"""LightGBM without a line of code: `train` and the scikit-learn interface, with rounds as steps and evaluation apart."""

from __future__ import annotations

from typing import Any

import lightgbm

from .. import _boosting, _guard
from .._around import after, given

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
    _boosting.attach(
        lightgbm,
        "engine",
        _facts,
        ("eval_train", "eval_valid"),
        ("lightgbm.Booster", _attach_boosters),
    )


def _attach_boosters() -> None:
    _guard.replace(lightgbm.Booster, "__init__", after(_booster_created))


@_guard.safely
def _booster_created(args: Any) -> None:
    """Only now is the data read: its rows were not known before."""
    data = getattr(args[0], "train_set", None)
    if data is not None and _boosting.here.rounds is not None:
        _boosting.here.rounds.update(rows=data.num_data())


def _facts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    settings = given("params", 0, args, kwargs) or {}
    rounds = given("num_boost_round", 2, args, kwargs, 100)
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
