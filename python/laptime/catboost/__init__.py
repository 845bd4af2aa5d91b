"""CatBoost without a line of code: every `fit` and `train`, with rounds as steps.

CatBoost loops outside Python and calls back after each round. Its evaluations are inside the rounds: nothing says
where one begins.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import catboost

from .. import _boosting, _frameworks, _guard
from ..hooks import Rounds


def attach() -> None:
    """Attaches the hook once; the run says if it cannot."""
    _guard.attach_once("catboost", ("catboost.CatBoost._train", _attach_train))


def _attach_train() -> None:
    _frameworks.register("catboost")
    _guard.replace(catboost.CatBoost, "_train", _make_train)


class _Callback:
    """Called by CatBoost after each round, and calls the user's, which says whether to go on."""

    def __init__(self, rounds: Rounds, users: Any) -> None:
        self.rounds = rounds
        self.users = users

    def after_iteration(self, info: Any) -> bool:
        _turn(self.rounds)
        return self.users is None or self.users.after_iteration(info)


@_guard.safely
def _turn(rounds: Rounds) -> None:
    rounds.end_round()
    rounds.begin_round()


def _make_train(original: Callable[..., Any]) -> Callable[..., Any]:
    def _train(
        self: Any, train_pool: Any, test_pool: Any, params: Any, *args: Any, **kwargs: Any
    ) -> Any:
        rounds = _begin(self, train_pool, params, sys._getframe().f_back)
        watched = params if rounds is None else _with_callback(params, rounds) or params
        try:
            return original(self, train_pool, test_pool, watched, *args, **kwargs)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        finally:
            if rounds is not None:
                _end(rounds)

    return _train


@_guard.safely
def _begin(model: Any, pool: Any, params: dict[str, Any], frame: FrameType | None) -> Rounds | None:
    rounds = Rounds.of(frame, _boosting.ROUND)
    if rounds is None:
        return None
    planned = params.get("iterations", 1000)
    facts = {
        "framework": "catboost",
        "framework_version": catboost.__version__,
        "device": str(params.get("task_type") or "cpu").lower(),
        "rows": pool.num_row(),
        "objective": params.get("loss_function")
        if isinstance(params.get("loss_function"), str)
        else None,
    }
    if rounds.is_ours:
        facts["label"] = type(model).__name__
    rounds.update(**facts, **_boosting.plan("iterations", planned))
    return rounds


@_guard.safely
def _with_callback(params: dict[str, Any], rounds: Rounds) -> dict[str, Any] | None:
    """The settings with a callback of ours; on a GPU CatBoost takes none, and the fit has no steps."""
    if str(params.get("task_type") or "").upper() == "GPU":
        return None
    rounds.begin_round()
    return {**params, "callbacks": _Callback(rounds, params.get("callbacks"))}


@_guard.safely
def _end(rounds: Rounds) -> None:
    rounds.drop_round()
    rounds.end()
