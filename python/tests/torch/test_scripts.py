"""Scripts written like people write them: the same with hooks as without, and counted right."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from side_by_side import check_same

from .conftest import Recorded, run_both


@dataclass(frozen=True)
class Expected:
    """What a script does, by hand: for each fit its epochs, steps and samples an epoch."""

    command: str
    # (epochs, steps an epoch, samples an epoch) of each fit.
    fits: tuple[tuple[int, int, int | None], ...]
    rows: int | None = None
    parameters: int | None = None
    code: int = 0
    stages: tuple[str, ...] = ("forward", "backward", "optimizer")
    # Backward passes whose gradients are thrown away.
    discarded: int | None = None

    @property
    def name(self) -> str:
        return self.command.replace(".py", "").replace(" ", "-")


LOADED = ("data_wait", "forward", "backward", "optimizer")

EXPECTED = [
    Expected(
        "loader.py", ((3, 13, 800),), 800, 2372, stages=(*LOADED, "loss", "evaluate", "checkpoint")
    ),
    Expected("whole_tensor.py", ((20, 1, 2000),), 2000, 16897, stages=("forward", "evaluate")),
    Expected("sliced.py", ((4, 21, 1010),), 1010, 21),
    Expected("accumulate.py", ((3, 10, 640),), 640, 577, stages=LOADED),
    Expected("discarded.py", ((3, 10, 640),), 640, discarded=87),
    Expected("device.py", ((3, 10, 640),), 640, 136714, stages=(*LOADED, "loss")),
    Expected("graph.py", ((3, 10, 160),), 160, 8, stages=("data_wait", "cuda_graph")),
    Expected("amp.py", ((2, 10, 320),), 320, 577, stages=LOADED),
    Expected("compiled.py full hooked", ((3, 5, 200),), 200, 833),
    Expected("compiled.py method", ((3, 5, 200),), 200, 833, stages=(*LOADED, "evaluate")),
    Expected("compiled_function.py", ((4, 4, 512),), 512, 66561, stages=LOADED),
    Expected("compiled_step.py", ((3, 10, None),), None, 161, stages=("backward", "optimizer")),
    Expected("gan.py", ((2, 9, 288),), 300, 377, stages=(*LOADED, "loss")),
    Expected("lbfgs.py", ((6, 1, 400),), 400, 241),
    Expected("workers.py 1 fork", ((2, 10, 240),), 240, 5, stages=LOADED),
    Expected("workers.py 2 fork persistent", ((2, 10, 240),), 240, 5, stages=LOADED),
    Expected("workers.py 1 spawn persistent", ((2, 10, 240),), 240, 5, stages=LOADED),
    Expected("workers.py 2 forkserver persistent", ((2, 10, 240),), 240, 5, stages=LOADED),
    Expected("workers.py 0 iterable", ((2, 10, 240),), None, 5, stages=LOADED),
    Expected("workers.py 2 fork iterable", ((2, 10, 240),), None, 5, stages=LOADED),
    Expected("fits.py", ((2, 5, 100), (2, 10, 200), (2, 20, 400)), 100, 9, stages=LOADED),
    Expected("sizes_without_loader.py", ((3, 3, 120), (3, 3, 120)), 120, 9),
    Expected("raises.py", ((2, 10, 100),), 100, 9, code=1),
    Expected("leaves_early.py", ((3, 12, 120),), 200, 9, code=3),
    Expected("teacher.py", ((2, 10, 300),), 300, 34, stages=(*LOADED, "evaluate")),
    Expected("two_loaders.py", ((2, 12, 120),), 120, 9, stages=LOADED),
    Expected("functional.py", ((8, 1, None),), None, 5),
    Expected("ahead.py holds", ((3, 10, 160),), 160, 9, stages=(*LOADED, "evaluate", "checkpoint")),
    Expected(
        "ahead.py lets_go", ((3, 10, 160),), 160, 9, stages=(*LOADED, "evaluate", "checkpoint")
    ),
    Expected("ahead.py stays", ((3, 10, 160),), 160, 9, stages=(*LOADED, "evaluate", "checkpoint")),
    Expected("own_update.py", ((2, 16, None), (3, 32, 512)), None, None),
    Expected("sampling.py", ((2, 10, 320),), 320, 9, stages=(*LOADED, "evaluate")),
    Expected("global_model.py", ((2, 3, 15),), 15, 3),
    Expected("by_hand.py", ((2, 5, 100), (2, 5, None)), None, 9, stages=LOADED),
]


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda expected: expected.name)
def test_script(expected: Expected, tmp_path: Path) -> None:
    bare, recorded = run_both(expected.command.split(), tmp_path)
    if bare.code == -signal.SIGILL:
        pytest.skip("this CPU cannot run the script, hooks or none")
    assert bare.code == expected.code, bare.stderr[-2000:]
    check_same(bare, recorded.ending)
    check_counts(expected, recorded)
    check_closing(recorded)
    check_clock(expected, recorded)


def check_counts(expected: Expected, recorded: Recorded) -> None:
    report = recorded.report
    found = [
        [
            (epoch["steps"], epoch["samples"])
            for epoch in report["epochs"]
            if epoch["fit"] == fit["index"]
        ]
        for fit in report["fits"]
    ]
    wanted = [[(steps, samples)] * epochs for epochs, steps, samples in expected.fits]
    if expected.command == "raises.py":
        # It fails in the fifth step of the second epoch.
        wanted = [[(10, 100), (4, 40)]]
    assert found == wanted
    fit = report["fits"][0]
    assert fit["framework"] == "torch"
    assert fit["rows"] == expected.rows
    assert expected.parameters is None or fit["parameters"] == expected.parameters
    for stage in expected.stages:
        assert recorded.stage(stage)["seconds"] > 0, stage
    assert fit["discarded_gradients"] == expected.discarded
    found = "discarded_gradients" in {finding["id"] for finding in report["findings"]}
    assert found == (expected.discarded is not None)
    assert not [one for one in report["warnings"] if "hook_off" in str(one)], report["warnings"]


def check_closing(recorded: Recorded) -> None:
    report = recorded.report
    total = sum(row["seconds"] for row in report["ledger"])
    assert total == pytest.approx(report["wall_s"], rel=0.001)
    for epoch in report["epochs"]:
        assert sum(epoch["stages"].values()) == pytest.approx(epoch["wall_s"], rel=0.001, abs=1e-6)


def check_clock(expected: Expected, recorded: Recorded) -> None:
    """Every epoch against the script's own clock, which is read just outside of it."""
    # What kept the thread from its work between the two readings is seen by the outer clock alone. A script
    # that waits for its workers is off the CPU anyway, so only waiting for a CPU tells of it.
    kept_from = "ready" if expected.command.startswith("workers.py") else "off"
    for epoch, clock in zip(recorded.epochs, recorded.clock, strict=False):
        found, took = epoch["wall_s"], clock["took"]
        # The clocks themselves differ by less than a thousandth.
        assert found <= took * 1.001 + 50e-6, (found, clock)
        assert found >= took * 0.98 - 0.002 - clock[kept_from] - clock["collected"], (found, clock)
