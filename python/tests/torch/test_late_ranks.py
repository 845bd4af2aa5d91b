"""The rank that others wait for is named with its stage, on one machine and on two that share no disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import watched
from .conftest import _environment

WORKER = str(Path(__file__).parents[3] / "benches" / "distributed" / "planted_worker.py")
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]
DELAY_MS = "50"


def planted(way: str, place: str, trials: int) -> list[str]:
    return [WORKER, way, place, str(trials), DELAY_MS, "11"]


def late_in_each_fit(document: dict[str, Any]) -> list[tuple[str, list[int], str]]:
    found = {one["fit"]: one["straggler"] for one in document["communication"]["fits"]}
    late = [found[fit["index"]] for fit in document["fits"]]
    return [(one["pattern"], one["ranks"], one["stage"]) for one in late]


@pytest.mark.parametrize(
    ("way", "place", "stage"),
    [
        ("ddp", "backward", "backward"),
        ("fsdp", "forward", "forward"),
        ("hand", "optimizer", "optimizer"),
    ],
)
def test_whoever_is_late_in_a_fit_is_named_with_the_stage(
    tmp_path: Path, way: str, place: str, stage: str
) -> None:
    launch = [*TORCHRUN, "--standalone", "--nproc-per-node", "4", *planted(way, place, 3)]
    code, out, err = watched.run([*watched.LAPTIME, "run", "--", *launch], tmp_path)
    assert code == 0, err
    truth = json.loads(out.splitlines()[-1])
    document, text = watched.report(tmp_path)
    assert late_in_each_fit(document) == [("chronic", [rank], stage) for rank in truth]
    for rank in document["ranks"]:
        known = rank["communication"]
        assert known["exposed_s"] == pytest.approx(known["transfer_s"] + known["waiting_s"])
        assert known["step_s"] > 0.05 and 0 <= known["late"] <= 1
    assert "between ranks:" in text and "waiting" in text


NAMES = ("laptime-a", "laptime-b")


@pytest.fixture
def machines() -> Iterator[tuple[str, str]]:
    """Two network namespaces with a cable between them: machines that share nothing but what is sent."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and the ip command to make network namespaces")
    made = subprocess.run(
        ["ip", "netns", "add", NAMES[0]], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"network namespaces cannot be made here: {made.stderr.strip()}")
    try:
        commands = [
            f"ip netns add {NAMES[1]}",
            f"ip link add ltveth0 netns {NAMES[0]} type veth peer name ltveth1 netns {NAMES[1]}",
        ]
        for at, name in enumerate(NAMES):
            commands += [
                f"ip -n {name} addr add 10.77.31.{at + 1}/24 dev ltveth{at}",
                f"ip -n {name} link set ltveth{at} up",
                f"ip -n {name} link set lo up",
            ]
        for command in commands:
            subprocess.run(command.split(), check=True)
        yield NAMES
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def test_two_machines_with_folders_of_their_own_are_one_run(
    tmp_path: Path, machines: tuple[str, str]
) -> None:
    def start(node: int) -> subprocess.Popen[bytes]:
        torchrun = [
            *TORCHRUN,
            *("--nnodes", "2", "--nproc-per-node", "2", "--node-rank", str(node)),
            *("--master-addr", "10.77.31.1", "--master-port", "29611", "--rdzv-id", "two-machines"),
        ]
        command = [*watched.LAPTIME, "run", "--", *torchrun, *planted("ddp", "backward", 1)]
        isolated = ["unshare", "--uts", "sh", "-c", f'hostname node{node}; exec "$@"', "sh"]
        environment = _environment() | {
            "LAPTIME_DIR": str(tmp_path / f"node{node}"),
            "GLOO_SOCKET_IFNAME": f"ltveth{node}",
        }
        return subprocess.Popen(
            ["ip", "netns", "exec", machines[node], *isolated, *command],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    started = [start(0), start(1)]
    said = [process.communicate(timeout=180) for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    (late,) = json.loads(said[0][0].splitlines()[-1])
    folders = [str(tmp_path / f"node{node}") for node in (0, 1)]
    shown = subprocess.run(
        [*watched.LAPTIME, "report", *folders, "--json"], capture_output=True, check=False
    )
    assert shown.returncode == 0, shown.stderr.decode()
    document = json.loads(shown.stdout)
    assert [rank["rank"] for rank in document["ranks"]] == [0, 1, 2, 3]
    assert [rank["host"] for rank in document["ranks"]] == ["node0", "node0", "node1", "node1"]
    found = document["communication"]["straggler"]
    assert (found["ranks"], found["stage"], found["host"]) == (
        [late],
        "backward",
        f"node{late // 2}",
    )
    alone = subprocess.run(
        [*watched.LAPTIME, "report", folders[1], "--json"], capture_output=True, check=True
    )
    missing = [
        one for one in json.loads(alone.stdout)["warnings"] if one["kind"] == "ranks_missing"
    ]
    assert [one["ranks"] for one in missing] == [[0, 1]]
