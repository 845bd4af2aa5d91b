"""Imports before the first fit are a stage of their own, and a stage inside one stays its own."""

from __future__ import annotations

import sys
from pathlib import Path

import laptime
import pytest
from installs import ESTIMATORS, clean
from side_by_side import run

LAPTIME = str(Path(sys.executable).parent / "laptime")

MODULES = {
    "sklearn/__init__.py": "__version__ = '1.0'\n",
    "sklearn/base.py": "import time\ntime.sleep(0.1)\n" + ESTIMATORS,
    "slow.py": "import inner, time\ntime.sleep(0.2)\n",
    "inner.py": "import time\ntime.sleep(0.1)\n",
    "staged.py": "import laptime, time\nwith laptime.stage('tables'):\n    time.sleep(0.2)\ntime.sleep(0.1)\n",
    "late.py": "import time\ntime.sleep(1.0)\n",
}

SCRIPT = """
import time
import slow
time.sleep(0.2)
import staged
from sklearn.base import BaseEstimator

class Mean(BaseEstimator):
    def fit(self, rows):
        import late
        return self

Mean().fit([1])
"""


@pytest.fixture
def recorded(tmp_path: Path) -> laptime.Run:
    for name, text in MODULES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run([LAPTIME, "run", "-q", "--", sys.executable, "script.py"], clean(), tmp_path)
    assert (done.code, done.stderr) == (0, "")
    return laptime.load(dir=tmp_path / ".laptime")


def test_imports_are_told_apart_from_start_up(recorded: laptime.Run) -> None:
    seconds = {row["stage"]: row["seconds"] for row in recorded.ledger}
    # slow with what it imports, staged without its stage, sklearn; what we do ourselves is none of it.
    assert 0.5 <= seconds["imports"] <= 1.0, seconds
    assert seconds["tables"] == pytest.approx(0.2, abs=0.1)
    assert 0.2 <= seconds["start_up"]
    # An import inside a fit is part of it.
    assert seconds["fit"] >= 1.0
    assert sum(seconds.values()) == pytest.approx(recorded.wall_s, rel=1e-6)
