"""Scripts that fail inside what is hooked: the same words on standard error, line for line."""

from __future__ import annotations

from pathlib import Path

import pytest
from side_by_side import check_same

from .conftest import run_both


@pytest.mark.parametrize("where", ["model", "loader", "worker", "backward", "optimizer", "save"])
def test_the_traceback_reads_as_without_hooks(where: str, tmp_path: Path) -> None:
    bare, recorded = run_both(["fails_inside.py", where], tmp_path)
    assert bare.code == 1 and "Traceback" in bare.stderr
    check_same(bare, recorded.ending)
