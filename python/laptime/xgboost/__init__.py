"""XGBoost without a line of code: `train` and the scikit-learn interface, with rounds as steps and evaluation apart."""

from __future__ import annotations

from typing import Any

import xgboost

from .. import _boosting
from .._around import given


def attach() -> None:
    """Attaches every hook once; the run says what cannot attach."""
    # `boost` is for gradients of the user's own; `update` calls it for an objective of the user's.
    _boosting.attach(xgboost, "training", _facts, ("eval_set",))


def _facts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    settings = given("params", 0, args, kwargs) or {}
    data = given("dtrain", 1, args, kwargs)
    facts = {
        "framework": "xgboost",
        "framework_version": xgboost.__version__,
        "device": str(settings.get("device") or "cpu"),
        "rows": data.num_row(),
        "objective": settings.get("objective"),
    }
    if not _boosting.is_wrapped():
        facts["label"] = "xgboost.train"
    return facts | _boosting.plan("num_boost_round", given("num_boost_round", 2, args, kwargs, 10))
