"""XGBoost without a line of code: `train` and the scikit-learn interface, with rounds as steps and evaluation apart."""

from __future__ import annotations

import sys
from typing import Any

import xgboost

from .. import _boosting, _frameworks, _guard

_attached = False


def attach() -> None:
    """Attaches every hook once; the run says what cannot attach."""
    global _attached
    if _attached:
        return
    _attached = True
    _frameworks.register("xgboost")
    _guard.attach("xgboost.train", _attach_train)
    _guard.attach("xgboost.Booster.update", _attach_rounds)
    _guard.attach("xgboost.Booster.eval_set", _attach_evaluations)


def _attach_train() -> None:
    users = [xgboost, sys.modules.get("xgboost.sklearn", xgboost)]
    _boosting.replace_function(xgboost.training, users, "train", _boosting.make_train(_facts))


def _attach_rounds() -> None:
    # `boost` is for gradients of the user's own; `update` calls it for an objective of the user's.
    _guard.replace(xgboost.Booster, "update", _boosting.make_round)


def _attach_evaluations() -> None:
    _guard.replace(xgboost.Booster, "eval_set", _boosting.make_evaluation)


def _facts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    settings = _boosting.given("params", 0, args, kwargs) or {}
    data = _boosting.given("dtrain", 1, args, kwargs)
    facts = {
        "framework": "xgboost",
        "framework_version": xgboost.__version__,
        "device": str(settings.get("device") or "cpu"),
        "rows": data.num_row(),
        "objective": settings.get("objective"),
    }
    if not _boosting.is_wrapped():
        facts["label"] = "xgboost.train"
    return facts | _boosting.plan(
        "num_boost_round", _boosting.given("num_boost_round", 2, args, kwargs, 10)
    )
