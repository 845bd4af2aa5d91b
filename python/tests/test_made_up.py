"""A framework that laptime has never heard of is recorded by a folder of its own and one line of registration."""

from __future__ import annotations

import sys
from pathlib import Path

import laptime
from installs import clean
from side_by_side import check_same, run

LAPTIME = str(Path(sys.executable).parent / "laptime")
FOLDER = Path(__file__).parent / "made_up"

SCRIPT = """
import tinynet
print(round(tinynet.Line().fit(tinynet.rows(20, 8), epochs=3).slope, 3))
"""


def _watch(folder: Path, registration: str) -> tuple[dict, str]:
    (folder / "script.py").write_text(SCRIPT)
    environment = clean() | {"PYTHONPATH": str(FOLDER), "LAPTIME_FRAMEWORKS": registration}
    words = [sys.executable, "script.py"]
    hooked = run([LAPTIME, "run", "--", *words], environment, folder)
    check_same(run(words, environment, folder), hooked)
    return laptime.load(dir=folder / ".laptime").to_dict(), hooked.summary


def test_a_made_up_framework_has_fits_epochs_and_steps(tmp_path: Path) -> None:
    report, _ = _watch(tmp_path, "tinynet tinynet_hooks")
    assert [(fit["framework"], fit["label"]) for fit in report["fits"]] == [("tinynet", "Line")]
    assert [(fit["rows"], fit["batch"]) for fit in report["fits"]] == [(20, 8)]
    assert [epoch["steps"] for epoch in report["epochs"]] == [3, 3, 3]
    assert [epoch["samples"] for epoch in report["epochs"]] == [20, 20, 20]
    stages = {row["stage"]: row["count"] for row in report["ledger"]}
    assert stages["train"] == 9 and stages["data_wait"] == 12
    assert not report["warnings"]


def test_hooks_that_cannot_be_imported_are_named_and_the_script_goes_on(tmp_path: Path) -> None:
    report, summary = _watch(tmp_path, "tinynet no_such_hooks, broken, tinynet tinynet_hooks")
    assert len(report["fits"]) == 1
    assert (
        "the hook of tinynet is off (ModuleNotFoundError: No module named 'no_such_hooks')"
        in summary
    )
