"""scikit-learn: a row for each step of a pipeline and each candidate of a search, iterations, names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import laptime
import pytest
from installs import clean
from side_by_side import check_same, run

pytest.importorskip("sklearn")

LAPTIME = str(Path(sys.executable).parent / "laptime")

DATA = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
rows = np.random.default_rng(0).normal(size=(200, 4))
labels = (rows[:, 0] + rows[:, 1] > 0).astype(int)
"""


def watch(source: str, folder: Path) -> dict[str, Any]:
    """Runs a script bare and under `laptime run`: the same output, and no warning."""
    (folder / "script.py").write_text(DATA + source)
    environment = clean() | {"OMP_NUM_THREADS": "1"}
    words = [sys.executable, "script.py"]
    hooked = run([LAPTIME, "run", "--", *words], environment, folder)
    check_same(run(words, environment, folder), hooked)
    report = laptime.load(dir=folder / ".laptime").to_dict()
    assert not [one for one in report["warnings"] if "trouble" in one], report["warnings"]
    return report


def test_a_pipeline_has_a_row_for_each_step_and_scalers_are_no_fits(tmp_path: Path) -> None:
    report = watch(
        """
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, PolynomialFeatures, StandardScaler
rows = StandardScaler().fit_transform(rows)
OrdinalEncoder().fit(labels.reshape(-1, 1))
model = make_pipeline(StandardScaler(), PolynomialFeatures(), LogisticRegression(max_iter=77))
print(model.fit(rows, labels).score(rows, labels))
""",
        tmp_path,
    )
    (fit,) = report["fits"]
    assert (
        fit["label"]
        == "Pipeline(StandardScaler, PolynomialFeatures, LogisticRegression)"[:59] + "…"
    )
    assert {"StandardScaler", "PolynomialFeatures", "LogisticRegression"} <= set(fit["stages"])
    assert fit["rows"] == 200
    assert fit["settings"]["max_iter"] == "77" and int(fit["settings"]["iterations"]) > 0


def test_a_search_has_a_row_for_each_candidate_and_its_scoring_apart(tmp_path: Path) -> None:
    report = watch(
        """
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_score
grid = {"C": [0.1, 1.0]}
print(GridSearchCV(LogisticRegression(), grid, cv=3).fit(rows, labels).best_params_)
print(RandomizedSearchCV(LogisticRegression(), grid, n_iter=2, cv=2, refit=False).fit(rows, labels).n_splits_)
print(cross_val_score(LogisticRegression(), rows, labels, cv=4).mean())
""",
        tmp_path,
    )
    labels = ["GridSearchCV", "RandomizedSearchCV", "cross_validate"]
    assert [fit["label"] for fit in report["fits"]] == [
        f"{name}(LogisticRegression)" for name in labels
    ]
    grid, random, cross = (set(fit["stages"]) for fit in report["fits"])
    assert {"C=0.1", "C=1", "refit", "evaluate"} <= grid and "LogisticRegression" not in grid
    assert {"C=0.1", "C=1", "evaluate"} <= random and "refit" not in random
    assert {"LogisticRegression", "evaluate"} <= cross
    counts = {row["stage"]: row["count"] for row in report["ledger"]}
    assert (counts["C=0.1"], counts["C=1"], counts["refit"]) == (5, 5, 1)
    assert counts["LogisticRegression"] == 4


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_workers_of_joblib_change_nothing(backend: str, tmp_path: Path) -> None:
    report = watch(
        f"""
import joblib
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
if __name__ == "__main__":
    with joblib.parallel_backend({backend!r}, n_jobs=2):
        search = GridSearchCV(LogisticRegression(), {{"C": [0.1, 1.0]}}, cv=3)
        print(search.fit(rows, labels).best_params_)
""",
        tmp_path,
    )
    assert [fit["label"] for fit in report["fits"]] == ["GridSearchCV(LogisticRegression)"]


def test_iterations_that_are_made_in_python_are_steps(tmp_path: Path) -> None:
    report = watch(
        """
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.linear_model import SGDClassifier
print(MLPClassifier((4,), max_iter=5, random_state=0).fit(rows, labels).n_iter_)
print(len(GradientBoostingClassifier(n_estimators=7).fit(rows, labels).estimators_))
model = SGDClassifier(random_state=0)
for epoch in range(2):
    for start in range(0, 200, 50):
        model.partial_fit(rows[start : start + 50], labels[start : start + 50], classes=[0, 1])
print(model.coef_.shape)
""",
        tmp_path,
    )
    network, trees, parts = report["fits"]
    assert (network["label"], network["steps"], network["planned_steps"]) == ("MLPClassifier", 5, 5)
    assert (trees["steps"], trees["planned_steps"]) == (7, 7)
    assert (parts["label"], parts["steps"], parts["epochs"]) == ("SGDClassifier", 8, 2)
    assert "iteration" in network["stages"] and "round" in trees["stages"]
