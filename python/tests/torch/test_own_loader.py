"""Passes over laptime.Loader are on record as those over a DataLoader are."""

from __future__ import annotations

from pathlib import Path

from side_by_side import check_same

from .conftest import run_both


def test_a_training_with_a_pack_is_on_record_with_its_waits_and_rows(tmp_path: Path) -> None:
    bare, recorded = run_both(["pack_loader.py"], tmp_path)
    check_same(bare, recorded.ending)
    assert bare.code == 0, bare.stderr
    assert [epoch["steps"] for epoch in recorded.epochs] == [30, 30]
    assert [epoch["samples"] for epoch in recorded.epochs] == [1500, 1500]
    for epoch, truth in zip(recorded.epochs, recorded.clock, strict=True):
        assert epoch["wall_s"] >= truth * 0.99
    assert recorded.stage("data_wait")["count"] >= 60
    assert recorded.stage("evaluate")["seconds"] > 0
    # What its thread did is on record beside the training.
    track = next(track for track in recorded.report["tracks"] if track["name"] == "laptime-load-0")
    assert {"check", "gather"} <= {row["stage"] for row in track["ledger"]}, track
    assert recorded.report["transfer"]["batch_bytes"] == 2 * 2000 * 9 * 4
    settings = recorded.report["fits"][0]["settings"]
    assert any(str(value) == "laptime.Loader" for value in settings.values()), settings
    assert recorded.report["warnings"] == []


def test_lightning_takes_a_pack_in_the_order_of_a_plain_loop(tmp_path: Path) -> None:
    bare, recorded = run_both(["pack_lightning.py"], tmp_path)
    assert bare.code == 0, bare.stderr[-3000:]
    assert recorded.ending.stdout == bare.stdout == "48 True\n"
    assert [epoch["steps"] for epoch in recorded.epochs] == [16, 16, 16]
    assert [epoch["samples"] for epoch in recorded.epochs] == [800, 800, 800]


def test_hugging_faces_trainer_takes_a_pack_with_named_columns(tmp_path: Path) -> None:
    bare, recorded = run_both(["pack_trainer.py"], tmp_path)
    assert bare.code == 0, bare.stderr[-3000:]
    assert recorded.ending.stdout == bare.stdout
    assert bare.stdout.startswith("60 3000 ")
    assert [epoch["steps"] for epoch in recorded.epochs] == [20, 20, 20]
    assert [epoch["samples"] for epoch in recorded.epochs] == [1000, 1000, 1000]
