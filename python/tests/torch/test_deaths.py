"""kill -9 in mid-epoch: the report says in which stage of which step each process died."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from . import watched


@pytest.mark.parametrize("all_of_it", [False, True], ids=["command", "laptime-too"])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_each_killed_process_says_where_it_died(
    tmp_path: Path, method: str, all_of_it: bool
) -> None:
    words = [*watched.LAPTIME, "run", "--", sys.executable, "hangs.py", str(tmp_path), method]
    running = watched.start(words, tmp_path)
    trainer = watched.wait_for(tmp_path / "trainer", running)
    stuck = watched.wait_for(tmp_path / "worker", running)
    tree = [*watched.descendants(running.pid)]
    assert {trainer, stuck} <= set(tree)
    watched.kill(([running.pid] if all_of_it else []) + tree)
    running.communicate(timeout=60)
    assert running.returncode == -9

    document, text = watched.report(tmp_path)
    assert document["run"]["status"] == "killed"
    rank, *workers = document["deaths"]
    assert (rank["part"], rank["rank"], rank["pid"]) == ("rank", 0, trainer)
    assert (rank["fit"], rank["epoch"], rank["step"]) == (0, 1, 2)
    assert [open["stage"] for open in rank["open_stages"]] == ["backward"]
    assert {worker["part"] for worker in workers} == {"loader_worker"} and len(workers) == 2
    stages = {
        worker["pid"]: [open["stage"] for open in worker["open_stages"]] for worker in workers
    }
    assert stages.pop(stuck) == ["fetch", "transform"]
    lines = " ".join(text.split())
    assert "rank 0 died in backward (open for" in lines
    assert "), step 3 of epoch 2 (fit 1)" in lines
    assert f"(pid {stuck}) died in fetch (open for" in lines and "within it transform" in lines
    assert [epoch["complete"] for epoch in document["epochs"]] == [True, False]
