"""Every collective is on record: whoever issues it, with its bytes, its group, its number and its end."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from side_by_side import Ending, both, run

from .conftest import SCRIPTS, _environment, hook_environment, report_of
from .exchanged import Collective, Exchanged, ranks

RANKS = 4
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
FLOAT = 4
# Stages by their numbers.
BACKWARD, COMMUNICATION = 6, 8


def torchrun(script: str, count: int, environment: dict[str, str]) -> Ending:
    words = [*TORCHRUN, "--nproc-per-node", str(count), script]
    return run(words, _environment() | environment, SCRIPTS, seconds=240)


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ending, Ending, Path]:
    """The script of four ranks that exchange in every way, bare and hooked."""
    folder = tmp_path_factory.mktemp("exchange")
    hooks = hook_environment(folder) | {"TRUTH_FILE": str(folder / "names.json")}
    hooked, bare = both(
        lambda: torchrun("exchange.py", RANKS, {}), lambda: torchrun("exchange.py", RANKS, hooks)
    )
    assert bare.code == 0, bare.stderr[-3000:]
    assert hooked.code == 0, hooked.stderr[-3000:]
    return bare, hooked, folder


@pytest.fixture(scope="module")
def logs(exchange: tuple[Ending, Ending, Path]) -> list[Exchanged]:
    found = ranks(exchange[2] / "runs" / "latest")
    assert [log.process["rank"] for log in found] == list(range(RANKS))
    return found


@pytest.fixture(scope="module")
def names(exchange: tuple[Ending, Ending, Path]) -> dict[str, str]:
    return json.loads((exchange[2] / "names.json").read_text())


def test_losses_are_the_same_to_the_last_bit_and_nothing_else_is_said(
    exchange: tuple[Ending, Ending, Path],
) -> None:
    bare, hooked, _ = exchange
    losses = json.loads(bare.stdout)
    assert all(len(losses[name]) == 3 for name in ("ddp", "fsdp", "by hand"))
    assert losses["kept"] == ["0"] and losses["graphs"] == ["[1, 0]"]
    assert json.loads(hooked.stdout) == losses
    assert set(hooked.theirs.splitlines()) == set(bare.theirs.splitlines())


def test_each_kind_has_its_exact_bytes_in_each_rank(
    logs: list[Exchanged], names: dict[str, str]
) -> None:
    for rank, log in enumerate(logs):
        of_root = rank == 1
        expected = [
            ("all_reduce", 100),
            ("all_gather", 100),
            ("all_gather", 100),
            ("reduce_scatter", 400),
            ("all_to_all", 400),
            ("broadcast", 100 if of_root else 0),
            ("reduce", 100),
            ("gather", 100),
            ("scatter", 400 if of_root else 0),
            ("barrier", 0),
            *[("all_reduce", 100)] * 5,
            ("all_reduce", 20),
            ("all_reduce", 100),
            *([("send", 100)] if rank == 0 else [("receive", 0)] if rank == 1 else []),
            ("send", 100),
            ("receive", 0),
        ]
        found = log.named(names["every kind"])
        between_two = ("send", "receive")
        assert [(one.kind, one.bytes // FLOAT) for one in found] == expected
        counted = [one.sequence for one in found if one.kind not in between_two]
        assert counted == list(range(len(counted)))
        (facts,) = [facts for facts in log.groups.values() if facts["name"] == names["every kind"]]
        assert facts["ranks"] == list(range(RANKS))
        assert facts["backend"] == "gloo" and facts["purpose"] == "every kind"


def test_every_group_counts_alike_in_all_its_ranks(logs: list[Exchanged]) -> None:
    purposes = set()
    for name in {facts["name"] for log in logs for facts in log.groups.values()}:
        members: dict[tuple[int, ...], list[list[tuple[str, int]]]] = {}
        for rank, log in enumerate(logs):
            for facts in log.groups.values():
                if facts["name"] == name:
                    assert rank in facts["ranks"]
                    purposes.add(facts.get("purpose"))
                    numbered = [(one.kind, one.sequence) for one in log.named(name)]
                    collective = [one for one in numbered if one[0] not in ("send", "receive")]
                    members.setdefault(tuple(facts["ranks"]), []).append(collective)
        for group, found in members.items():
            assert len(found) == len(group)
            assert all(one == found[0] for one in found)
    # FSDP's group is that of a dimension of the mesh; by hand and DDP use the default one.
    assert purposes == {None, "every kind", "shard"}


def test_buckets_of_ddp_are_inside_backward_and_their_bytes_are_those_of_the_gradients(
    logs: list[Exchanged],
) -> None:
    gradients = (64 * 128 + 128 + 128 * 64 + 64 + 2 * 64) * FLOAT
    for log in logs:
        (number,) = [at for at, facts in log.groups.items() if facts.get("purpose") is None]
        passes = log.spans[BACKWARD][:3]
        in_passes = [
            sum(
                one.bytes
                for one in log.collectives
                if one.group == number
                and one.kind == "all_reduce"
                and begin <= one.start <= one.end <= end
            )
            for begin, end in passes
        ]
        assert in_passes == [gradients] * 3


def test_shards_are_gathered_and_scattered_by_fsdp(logs: list[Exchanged]) -> None:
    for log in logs:
        (number,) = [at for at, facts in log.groups.items() if facts.get("purpose") == "shard"]
        kinds = [one.kind for one in log.collectives if one.group == number]
        assert kinds.count("all_gather") >= 3 and kinds.count("reduce_scatter") == 6


def test_a_late_rank_has_the_shortest_stay_and_bytes_are_counted_once(
    logs: list[Exchanged], names: dict[str, str], exchange: tuple[Ending, Ending, Path]
) -> None:
    last: list[Collective] = [
        [one for one in log.named(names["every kind"]) if one.kind == "all_reduce"][-1]
        for log in logs
    ]
    stays = [(one.end - one.start) / log.ticks_per_s for one, log in zip(last, logs)]
    assert min(stays) == stays[3] and min(stays[:3]) >= 0.15
    for log in logs:
        assert log.counted == sum(one.bytes for one in log.collectives) > 0
        assert not log.troubles
    document = report_of(exchange[2] / "runs")
    # The transfer of the run is that of its first rank, or of all: never twice what was exchanged.
    total = document["transfer"]["between_ranks_bytes"]
    assert total in (logs[0].counted, sum(log.counted for log in logs))


def test_the_machine_and_the_launch_are_known(
    logs: list[Exchanged], exchange: tuple[Ending, Ending, Path]
) -> None:
    description = json.loads((exchange[2] / "runs" / "latest" / "run.json").read_text())
    assert description["launch"].startswith("torchrun:") and description["ranks"] == RANKS
    assert {log.process["host"] for log in logs} == {os.uname().nodename}


@pytest.mark.parametrize(
    ("form", "trouble"),
    [
        ("without", {"what": "collectives_not_seen"}),
        ("failing", {"what": "hook_off", "hook": "torch.ProcessGroup"}),
    ],
)
def test_what_cannot_be_seen_is_said_and_the_script_goes_on(
    tmp_path: Path, form: str, trouble: dict[str, str]
) -> None:
    environment = _environment() | {"LAPTIME_DIR": str(tmp_path / "runs"), "LAPTIME_QUIET": "1"}
    ending = run([sys.executable, "unhooked.py", form], environment, SCRIPTS)
    assert (ending.code, ending.stdout, ending.stderr) == (0, "True\n", "")
    (log,) = ranks(tmp_path / "runs" / "latest")
    assert [trouble.items() <= found.items() for found in log.troubles] == [True]
    # Waiting is seen all the same.
    assert len(log.spans[COMMUNICATION]) >= 3 and not log.collectives
