"""What advice rests on: how long loading takes, wherever it is done."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import run_hooked


def advice_on(folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "laptime", "advise", "--json", "--dir", str(folder / "runs")]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_collate_function_that_takes_the_time_is_the_first_item(
    workers: str, tmp_path: Path
) -> None:
    recorded = run_hooked(["slow_collate.py", workers], tmp_path)
    assert recorded.ending.code == 0, recorded.ending
    first = advice_on(tmp_path)["items"][0]
    assert first["id"] == "collate", first


def test_a_dataset_goes_with_its_iterator(tmp_path: Path) -> None:
    recorded = run_hooked(["slow_collate.py", "iterable"], tmp_path)
    assert recorded.ending.stdout.split() == ["closed"], recorded.ending
