"""`LAPTIME_CHANGES`: what laptime changes in a PyTorch script that it runs, and what it leaves as it is."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from side_by_side import Ending, both, check_same, run

from .conftest import SCRIPTS, _environment, report_of, run_bare

# What one script can take all at once.
MANY = (
    "num_workers=2,prefetch_factor=3,persistent_workers=1,threads=2,gc=off,"
    "channels_last=1,fused_optimizer=1"
)


@dataclass(frozen=True)
class Changed:
    """A script that was run with changes: its ending, and its run as a report."""

    ending: Ending
    report: dict[str, Any]

    @property
    def changes(self) -> str | None:
        return self.report["fits"][0]["settings"].get("changes")

    @property
    def refused(self) -> dict[str, str]:
        """Why what was asked for was not done."""
        troubles = [one.get("trouble", {}) for one in self.report["warnings"]]
        return {one["hook"]: one["because"] for one in troubles if one.get("what") == "hook_off"}

    def line(self, name: str) -> list[str]:
        return next(words for words in self.lines() if words[0] == name)

    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.ending.stdout.splitlines()]


def run_changed(changes: str | None, words: list[str], folder: Path) -> Changed:
    laptime = [sys.executable, "-m", "laptime", "run", "--quiet", "--dir", str(folder)]
    environment = _environment() | ({} if changes is None else {"LAPTIME_CHANGES": changes})
    command = [*laptime, "--", sys.executable, "changes.py", *words]
    ending = run(command, environment, SCRIPTS, seconds=120)
    assert ending.code == 0, ending.stderr
    return Changed(ending, report_of(folder))


def numbers_of(ending: Ending) -> list[str]:
    """Which samples each step was taken on."""
    return [line[: line.index("]")] for line in ending.stdout.splitlines() if line[:4] == "step"]


def losses_of(ending: Ending) -> list[float]:
    lines = [line for line in ending.stdout.splitlines() if line[:4] == "step"]
    return [float(line.split("]")[1].split()[0]) for line in lines]


@pytest.fixture(scope="module")
def bare() -> Ending:
    return run_bare(["changes.py"])


def test_without_the_variable_nothing_differs(bare: Ending, tmp_path: Path) -> None:
    plain = run_changed(None, [], tmp_path)
    check_same(bare, plain.ending)
    assert plain.changes is None
    assert plain.refused == {}


def test_many_changes_are_made_at_once_and_the_fit_says_so(bare: Ending, tmp_path: Path) -> None:
    many = run_changed(f"{MANY},=1,what,also=", [], tmp_path)
    assert many.changes == MANY.replace(",", " ")
    assert many.refused == {}
    assert many.ending.stderr == bare.stderr
    assert many.line("loader") == ["loader", "2", "3", "True"]
    assert many.line("threads") == ["threads", "2"]
    assert many.line("forward") == ["forward", "torch.float32", "True"]
    assert many.line("optimizer")[1] == "True"
    assert many.line("gc") == ["gc", "False"]
    # Type and state of the model stay, and a copy of it has nothing of ours.
    assert many.line("compiled")[2:] == ["Net", "4"]
    assert many.line("copy") == ["copy", "None"]
    # The same training: the same samples in the same steps, but for rounding.
    assert numbers_of(many.ending) == numbers_of(bare)
    assert losses_of(many.ending) == pytest.approx(losses_of(bare), rel=1e-4)


def test_workers_draw_no_random_number_of_the_training(bare: Ending, tmp_path: Path) -> None:
    for changes in ("num_workers=2", "num_workers=1,persistent_workers=1"):
        changed = run_changed(changes, [], tmp_path / changes)
        assert losses_of(changed.ending) == losses_of(bare)
    kept = run_bare(["changes.py", "workers"])
    for changes in ("num_workers=0", "persistent_workers=0,num_workers=2"):
        changed = run_changed(changes, ["workers"], tmp_path / changes)
        assert changed.changes == changes.replace(",", " ")
        assert losses_of(changed.ending) == losses_of(kept)


def test_a_model_is_compiled_in_its_place(bare: Ending, tmp_path: Path) -> None:
    compiled = run_changed("compile=1", [], tmp_path)
    assert (compiled.changes, compiled.refused) == ("compile=1", {})
    assert compiled.line("compiled") == ["compiled", "True", "Net", "4"]
    assert numbers_of(compiled.ending) == numbers_of(bare)
    assert losses_of(compiled.ending) == pytest.approx(losses_of(bare), rel=1e-4)


def test_the_first_batch_is_repeated_for_as_many_steps(bare: Ending, tmp_path: Path) -> None:
    # The script overwrites the batch, which is given as it was all the same.
    repeated = run_changed("repeat_batch=1,foreach_optimizer=1", ["writes"], tmp_path)
    numbers = numbers_of(repeated.ending)
    assert repeated.changes == "repeat_batch=1 foreach_optimizer=1"
    assert numbers == [numbers_of(bare)[0]] * 15
    assert repeated.line("optimizer") == ["optimizer", "None", "True"]
    assert [epoch["steps"] for epoch in repeated.report["epochs"]] == [5, 5, 5]


def test_a_batch_has_another_size(tmp_path: Path) -> None:
    changed = run_changed("batch_size=10", [], tmp_path)
    assert changed.changes == "batch_size=10"
    assert changed.line("batch_size")[1] == "10"
    assert [epoch["steps"] for epoch in changed.report["epochs"]] == [2, 2, 2]


CANNOT = {
    "iterable": {
        "num_workers=2": "the loader is iterable and every worker would give all of it",
        "prefetch_factor=4": "the loader has no workers",
        "batch_size=2": "the loader does not shuffle: it may be that of an evaluation",
        "repeat_batch=1": "the loader is iterable, and the number of its batches is not known",
    },
    "no_loader": {
        "num_workers=2": "no DataLoader was made",
        "autocast=fp16": "fp16 needs a loss that is scaled; bf16 does not",
        "gc=on": "it can only be switched off",
        "warp=9": "nothing in this script can be changed in this way",
    },
    "lonely": {
        "num_workers=2": "a worker failed: RuntimeError: only at home",
        "pin_memory=1": "no GPU",
        "tf32=1": "the model is not on a GPU",
        "cudnn_benchmark=1": "the model is not on a GPU",
    },
    "embedding": {"foreach_optimizer=1": "gradients are sparse"},
    "rows": {
        "channels_last=1": "the model failed with it: TypeError: only rows",
        "autocast=bf16": "the model is not on a GPU",
        "threads=many": "its value is no whole number",
    },
    "workers": {"num_workers=1": "the loader has as many already"},
}


@pytest.mark.parametrize("kind", CANNOT)
def test_a_script_that_cannot_take_a_change_runs_as_if_nothing_had_been_asked(
    kind: str, tmp_path: Path
) -> None:
    reasons = CANNOT[kind]
    changed, bare = both(
        lambda: run_bare(["changes.py", kind]),
        lambda: run_changed(",".join(reasons), [kind], tmp_path),
    )
    check_same(bare, changed.ending)
    assert changed.refused == {f"change {name}": because for name, because in reasons.items()}
    assert not changed.changes
