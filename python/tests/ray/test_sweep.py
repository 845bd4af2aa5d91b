"""Sweeps on a cluster: as on one machine, and through the loss of a node."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PATIENCE = 300

TRAINING = """
import sys, time
import laptime

for epoch in laptime.epochs(2):
    for batch in laptime.batches(range(8)):
        time.sleep(float(sys.argv[1]) / 1000)
"""

# Says which node it runs on while it does.
SLOW = """
import os, sys, time

mark = os.path.join(sys.argv[1], f"on-{os.environ['RAY_RAYLET_PID']}-{os.getpid()}")
open(mark, "w").close()
time.sleep(0.7)
os.remove(mark)
"""


def laptime(folder: Path, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "LAPTIME_DIR": str(folder / ".laptime")}
    command = [sys.executable, "-m", "laptime", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=pipe, stderr=pipe
    )


def sweep(folder: Path, *words: str) -> dict[str, Any]:
    process = laptime(folder, "sweep", "--json", *words)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    return json.loads(out) | {"stderr": err}


def kept(folder: Path) -> dict[str, Any]:
    """The sweep on disk; nothing while there is none."""
    for file in folder.glob(".laptime/sweeps/*/sweep.json"):
        return json.loads(file.read_text())
    return {"repeats": []}


def runs(folder: Path) -> list[Path]:
    return [run for run in folder.glob(".laptime/sweeps/*/runs/*") if run.name != "latest"]


def wait(until: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def test_a_sweep_on_three_nodes_has_the_laws_of_one_alone(cluster: Any, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAINING)
    axis = ["--repeats", "6", "--seed", "1", "-p", "ms=4,8,16,32"]
    command = ["--", sys.executable, str(script), "{ms}"]
    alone = sweep(tmp_path, *axis, *command)
    spread = sweep(tmp_path, "--on", f"ray={cluster.address}", *axis, *command)
    # Where others are busy too, what they spoiled is made again.
    tried = [point["tried"] for point in spread["points"]]
    (machine,) = spread["machines"]
    assert min(tried) >= 6 and machine["repeats"] == sum(tried) and not alone["machines"]

    for document in (alone, spread):
        (law,) = [law for law in document["laws"] if law["y"] == "step_s"]
        assert law["r2"] > 0.98, law
    for here, there in zip(alone["points"], spread["points"]):
        one, other = here["step_s"], there["step_s"]
        meet = one["low"] <= other["high"] and other["low"] <= one["high"]
        assert meet or 0.9 < one["mean"] / other["mean"] < 1.1, (one, other)
    # Nodes of one machine took turns, and each run came back whole.
    sweeps = sorted(tmp_path.glob(".laptime/sweeps/*/sweep.json"))
    repeats = json.loads(sweeps[-1].read_text())["repeats"]
    assert all(
        (sweeps[-1].parent / "runs" / repeat["run"] / "run.json").is_file() for repeat in repeats
    )
    assert "of 4 points" in laptime(tmp_path, "report", sweeps[-1].parent.name).communicate()[0]


def test_a_node_that_is_killed_loses_no_finished_repeat_and_its_running_one_is_made_again(
    cluster: Any, tmp_path: Path
) -> None:
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    victim = cluster.add()
    words = ["--on", f"ray={cluster.address}", "--repeats", "2", "-p", "x=1,2,3", "--no-hooks"]
    command = ["--", sys.executable, str(script), str(tmp_path), "{x}"]
    process = laptime(tmp_path, "sweep", "--json", *words, *command)
    wait(lambda: len(kept(tmp_path)["repeats"]) >= 2)
    wait(lambda: list(tmp_path.glob(f"on-{victim}-*")))
    before = [repeat["run"] for repeat in kept(tmp_path)["repeats"]]
    cluster.kill(victim)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert "a repeat was lost on" in err
    repeats = kept(tmp_path)["repeats"]
    assert [repeat["run"] for repeat in repeats][: len(before)] == before
    made = {(repeat["round"], repeat["point"]) for repeat in repeats}
    assert len(repeats) == len(made) == len(runs(tmp_path)) >= 6
    assert all(point["status"] == "finished" for point in json.loads(out)["points"])


def test_ctrl_c_ends_what_runs_and_the_sweep_goes_on_later(cluster: Any, tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    words = ["--on", f"ray={cluster.address}", "--repeats", "2", "-p", "x=1,2", "--no-hooks"]
    process = laptime(
        tmp_path, "sweep", *words, "--", sys.executable, str(script), str(tmp_path), "{x}"
    )
    wait(lambda: kept(tmp_path)["repeats"] and list(tmp_path.glob("on-*")))
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and "laptime sweep --resume" in out
    (mark,) = tmp_path.glob("on-*")
    command = int(mark.name.split("-")[2])
    wait(lambda: not Path(f"/proc/{command}").exists())
    before = len(kept(tmp_path)["repeats"])
    document = sweep(tmp_path, "--resume")
    repeats = document["sweep"]["repeats"]
    assert 0 < before < repeats == len(runs(tmp_path)) >= 4


def test_without_a_cluster_or_ray_it_says_what_to_do(tmp_path: Path) -> None:
    words = ["sweep", "--on", "ray=127.0.0.1:1", "-p", "x=1", "--", "sleep", "{x}"]
    process = laptime(tmp_path, *words)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and "`ray start --head` starts one here" in err
    assert not list(tmp_path.glob(".laptime/sweeps/*"))
