"""Real readers accept what `laptime report --export` writes: Perfetto's classes, promtool, pandas, polars and DuckDB."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import event_files
import pandas
import polars
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

RUNS = ["demo", "sizes", "killed", "failed", "pytorch", "keras", "two_ranks"]
# Time that no span has: it is what the spans leave.
BACKGROUND = {"start_up", "unaccounted", "between_epochs", "tear_down"}


def export(run: str, name: str, path: Path, *words: str) -> None:
    command = [
        *event_files.LAPTIME,
        "report",
        "--dir",
        ".",
        run,
        "--export",
        name,
        str(path),
        *words,
    ]
    subprocess.run(command, cwd=event_files.FIXTURES, check=True, capture_output=True)


def report(run: str) -> dict[str, Any]:
    return event_files.report(event_files.FIXTURES, run)


@dataclass
class Slice:
    name: str
    begin: int
    end: int | None = None
    inside: list[Slice] = field(default_factory=list)

    def own_ns(self) -> int:
        return self.end - self.begin - sum(one.end - one.begin for one in self.inside)


def slices(path: Path) -> dict[str, dict[str, list[Slice]]]:
    """The outermost slices of each track of each process, as Perfetto's trace processor puts them together."""
    trace = perfetto.Trace.FromString(path.read_bytes())
    names: dict[int, str] = {}
    tracks: dict[int, perfetto.TrackDescriptor] = {}
    roots: dict[int, list[Slice]] = defaultdict(list)
    open_slices: dict[int, list[Slice]] = defaultdict(list)
    newest: dict[int, int] = {}
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        names |= {entry.iid: entry.name for entry in packet.interned_data.event_names}
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.uuid not in tracks
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if not packet.HasField("track_event"):
            continue
        event, track = packet.track_event, packet.track_event.track_uuid
        assert newest.get(track, 0) <= packet.timestamp
        newest[track] = packet.timestamp
        stack = open_slices[track]
        if event.type == perfetto.TrackEvent.TYPE_SLICE_BEGIN:
            one = Slice(event.name or names[event.name_iid], packet.timestamp)
            (stack[-1].inside if stack else roots[track]).append(one)
            stack.append(one)
        elif event.type == perfetto.TrackEvent.TYPE_SLICE_END:
            stack.pop().end = packet.timestamp
        else:
            assert event.type == perfetto.TrackEvent.TYPE_COUNTER
            assert tracks[track].HasField("counter")
    processes: dict[str, dict[str, list[Slice]]] = {}
    for track, found in roots.items():
        process = tracks[tracks[track].parent_uuid].process
        processes.setdefault(process.process_name, {}).setdefault(tracks[track].name, []).extend(
            found
        )
    return processes


def count_and_own_time(found: list[Slice], sums: dict[str, list[float]]) -> None:
    """What the ledger books of slices: everything inside an evaluation is the evaluation's."""
    for one in found:
        if one.end is None:
            count_and_own_time(one.inside, sums)
            continue
        sums[one.name][0] += 1
        if one.name == "evaluate":
            sums[one.name][1] += (one.end - one.begin) * 1e-9
            continue
        sums[one.name][1] += one.own_ns() * 1e-9
        count_and_own_time(one.inside, sums)


@pytest.mark.parametrize("run", RUNS)
def test_perfetto_has_every_span_in_its_place(run: str, tmp_path: Path) -> None:
    export(run, "perfetto", tmp_path / "trace")
    found, known = slices(tmp_path / "trace"), report(run)
    threads = {name: roots for name, roots in found["rank 0"].items() if name.startswith("thread ")}
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
    ledgers = [
        known["ledger"],
        *(track["ledger"] for track in known["tracks"] if track["kind"] == "thread"),
    ]
    for roots in threads.values():
        count_and_own_time(roots, sums)
    for stage in {row["stage"] for ledger in ledgers for row in ledger} - BACKGROUND:
        rows = [row for ledger in ledgers for row in ledger if row["stage"] == stage]
        count, seconds = sums[stage]
        booked = sum(row["count"] for row in rows)
        if stage == "optimizer" and known["run"]["frameworks"]:
            # The recorder books some time of an epoch's last update afterwards: it counts, without a span.
            assert booked - sum(epoch["count"] for epoch in known["epochs"]) <= count <= booked
            continue
        assert count == booked, stage
        # Own times only add up where every slice is inside the one that was around it.
        if known["run"]["status"] == "finished":
            assert seconds == pytest.approx(
                sum(row["seconds"] for row in rows), rel=1e-3, abs=1e-5
            ), stage
    steps = [one for roots in found.values() for one in roots.get("steps", [])]
    assert len([one for one in found["rank 0"].get("steps", []) if one.end]) == sum(
        fit["steps"] for fit in known["fits"]
    )
    assert steps or run == "failed"


def test_perfetto_has_workers_ranks_and_amounts(tmp_path: Path) -> None:
    export("pytorch", "perfetto", tmp_path / "pytorch")
    packets = perfetto.Trace.FromString((tmp_path / "pytorch").read_bytes()).packet
    workers = [
        packet
        for packet in packets
        if "loader worker" in packet.track_descriptor.process.process_name
    ]
    assert len(workers) == len(report("pytorch")["workers"])
    assert "fetch" in {
        one.name for one in slices(tmp_path / "pytorch")["rank 0 loader worker 1"]["thread unnamed"]
    }
    export("two_ranks", "perfetto", tmp_path / "ranks")
    assert {"rank 0", "rank 1"} <= set(slices(tmp_path / "ranks"))
    export("demo", "perfetto", tmp_path / "demo")
    packets = perfetto.Trace.FromString((tmp_path / "demo").read_bytes()).packet
    amounts = {
        packet.track_descriptor.name
        for packet in packets
        if packet.track_descriptor.HasField("counter")
    }
    assert {"busy CPUs", "resident memory", "batches", "validation_accuracy"} <= amounts


@pytest.mark.parametrize("run", RUNS)
def test_promtool_accepts_the_metrics(run: str, tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip(
            "the metrics are not checked: promtool (Debian's package prometheus) is not installed"
        )
    export(run, "prometheus", tmp_path / "run.prom")
    checked = subprocess.run(
        [promtool, "check", "metrics"],
        stdin=(tmp_path / "run.prom").open(),
        capture_output=True,
        text=True,
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


@pytest.mark.parametrize("run", RUNS)
def test_tables_are_the_same_for_every_reader(run: str, tmp_path: Path) -> None:
    known = report(run)
    csv, parquet = tmp_path / "epochs.csv", tmp_path / "epochs.parquet"
    export(run, "csv", csv)
    export(run, "parquet", parquet)
    frame = pandas.read_parquet(parquet)
    assert len(frame) == len(known["epochs"])
    assert list(frame["wall_s"]) == [epoch["wall_s"] for epoch in known["epochs"]]
    assert [bool(flag) for flag in frame["complete"]] == [
        epoch["complete"] for epoch in known["epochs"]
    ]
    text = pandas.read_csv(csv)
    pandas.testing.assert_frame_equal(
        text, pandas.read_parquet(parquet), check_dtype=False, check_index_type=False
    )
    lazy = polars.read_parquet(parquet)
    assert lazy.columns == list(frame.columns)
    assert duckdb.sql(f"select count(*), sum(wall_s) from '{parquet}'").fetchall() == [
        (len(frame), pytest.approx(frame["wall_s"].sum()) if len(frame) else None)
    ]
    for epoch, row in zip(known["epochs"], lazy.iter_rows(named=True), strict=True):
        assert {
            f"stage_{stage}_s": value for stage, value in epoch["stages"].items()
        }.items() <= row.items()


def test_a_step_is_a_row(tmp_path: Path) -> None:
    export("two_ranks", "parquet", tmp_path / "steps", "--table", "steps")
    export("two_ranks", "csv", tmp_path / "steps.csv", "--table", "steps")
    steps = pandas.read_parquet(tmp_path / "steps")
    assert len(steps) == len(pandas.read_csv(tmp_path / "steps.csv"))
    assert set(steps["rank"]) == {0, 1}
    first = steps[steps["rank"] == 0]
    assert len(first) == report("two_ranks")["fits"][0]["steps"]
    assert list(first["step"]) == list(range(len(first)))
    assert first["started_s"].is_monotonic_increasing
