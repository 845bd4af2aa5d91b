"""XGBoost, LightGBM and CatBoost: rounds are steps, evaluation is apart, and a fit is one in either interface."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import laptime
import pytest
from installs import clean
from side_by_side import check_same, run

LAPTIME = str(Path(sys.executable).parent / "laptime")

DATA = """
import numpy as np
rows = np.random.default_rng(0).normal(size=(300, 4))
labels = (rows[:, 0] + rows[:, 1] > 0).astype(int)
"""
XGBOOST = """
import xgboost
data, other = xgboost.DMatrix(rows, labels), xgboost.DMatrix(rows[:50], labels[:50])
found = {}
settings = {"objective": "binary:logistic", "nthread": 1}
xgboost.train(settings, data, 11, evals=[(other, "other")], evals_result=found, verbose_eval=False)
print(found)
model = xgboost.XGBClassifier(n_estimators=50, n_jobs=1, early_stopping_rounds=1, learning_rate=0.9)
model.fit(rows, labels, eval_set=[(rows[:50], labels[:50])], verbose=False)
print(model.get_booster().num_boosted_rounds())
try:
    xgboost.train({"objective": "no such thing"}, data, 3)
except xgboost.core.XGBoostError as error:
    print("failed", type(error).__name__)
from sklearn.model_selection import GridSearchCV
search = GridSearchCV(xgboost.XGBClassifier(n_estimators=2, n_jobs=1), {"max_depth": [1, 2]}, cv=2)
print(search.fit(rows, labels).best_params_)
"""
LIGHTGBM = """
import lightgbm
settings = {"objective": "binary", "verbose": -1, "num_threads": 1, "num_iterations": 11}
data, other = lightgbm.Dataset(rows, labels), lightgbm.Dataset(rows[:50], labels[:50])
print(lightgbm.train(settings, data, 3, valid_sets=[other]).best_score)
model = lightgbm.LGBMClassifier(n_estimators=9, verbose=-1, n_jobs=1)
print(model.fit(rows, labels).score(rows, labels))
"""
CATBOOST = """
import catboost
settings = {"verbose": 0, "thread_count": 1, "allow_writing_files": False}
pool = catboost.Pool(rows, labels)
print(catboost.train(pool, {"iterations": 11, "loss_function": "Logloss", **settings}).tree_count_)
class Stop:
    def after_iteration(self, info):
        return info.iteration < 5
model = catboost.CatBoostClassifier(iterations=50, **settings)
print(model.fit(rows, labels, callbacks=[Stop()]).tree_count_)
"""


@dataclass(frozen=True)
class Library:
    """A script, and the fits it makes: label, steps (`None`: fewer than planned) and steps planned."""

    script: str
    fits: list[tuple[str, int | None, int | None]]
    evaluates: bool = True


LIBRARIES = {
    "xgboost": Library(
        XGBOOST,
        [
            ("xgboost.train", 11, 11),
            ("XGBClassifier", None, 50),
            ("xgboost.train", 0, 3),
            ("GridSearchCV(XGBClassifier)", 2, 2),
        ],
    ),
    "lightgbm": Library(LIGHTGBM, [("lightgbm.train", 11, 11), ("LGBMClassifier", 9, 9)]),
    "catboost": Library(
        CATBOOST, [("CatBoost", 11, 11), ("CatBoostClassifier", 5, 50)], evaluates=False
    ),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_rounds_are_steps_of(library: str, tmp_path: Path) -> None:
    if find_spec(library) is None:
        pytest.skip(f"no {library} here")
    expected = LIBRARIES[library]
    (tmp_path / "script.py").write_text(DATA + expected.script)
    environment = clean() | {"OMP_NUM_THREADS": "1"}
    words = [sys.executable, "script.py"]
    hooked = run([LAPTIME, "run", "--", *words], environment, tmp_path)
    check_same(run(words, environment, tmp_path), hooked)
    report = laptime.load(dir=tmp_path / ".laptime").to_dict()
    assert not [one for one in report["warnings"] if "trouble" in one], report["warnings"]
    fits = report["fits"]
    assert [fit["label"] for fit in fits] == [label for label, _, _ in expected.fits]
    for fit, (_, steps, planned) in zip(fits, expected.fits, strict=True):
        assert fit["planned_steps"] == planned and fit["rows"] == 300, fit
        assert fit["steps"] == steps or (steps is None and 0 < fit["steps"] < planned), fit
    assert fits[0]["framework"] == library
    assert ("evaluate" in fits[0]["stages"]) == expected.evaluates
    assert "round" in fits[0]["stages"] and "round" in fits[1]["stages"]
