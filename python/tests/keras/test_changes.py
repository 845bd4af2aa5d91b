"""`LAPTIME_CHANGES`: what laptime changes in a Keras or TensorFlow script that it runs, and what it leaves as it is."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import laptime
import pytest
from side_by_side import Ending, both, check_same

from .conftest import run_script

# What one script can take all at once.
MANY = "validation_freq=2,prefetch=1,cache=1,parallel_map=1,steps_per_execution=2,threads=1,gc=off"


@dataclass(frozen=True)
class Changed:
    """A script that was run with changes: its ending, and its run."""

    ending: Ending
    run: laptime.Run

    @property
    def changes(self) -> str | None:
        return self.run.to_dict()["fits"][0]["settings"].get("changes")

    @property
    def refused(self) -> dict[str, str]:
        """Why what was asked for was not done."""
        troubles = [one.get("trouble", {}) for one in self.run.to_dict()["warnings"]]
        return {one["hook"]: one["because"] for one in troubles if one.get("what") == "hook_off"}

    def line(self, name: str) -> list[str]:
        return words_of(self.ending, name)


def words_of(ending: Ending, name: str) -> list[str]:
    lines = [line.split() for line in ending.stdout.splitlines()]
    return next(words[1:] for words in lines if words[0] == name)


def losses_of(ending: Ending) -> list[float]:
    return [float(word) for word in words_of(ending, "losses")]


def run_changed(changes: str | None, words: list[str], folder: Path) -> Changed:
    # `python -m laptime` under the same environment as the bare script.
    laptime_run = ["-m", "laptime", "run", "--quiet", "--dir", str(folder), "--", sys.executable]
    asked = {} if changes is None else {"LAPTIME_CHANGES": changes}
    ending = run_script([*laptime_run, "changes.py", *words], asked)
    assert ending.code == 0, ending.stderr
    return Changed(ending, laptime.load(dir=folder))


@pytest.fixture(scope="module")
def bare() -> Ending:
    return run_script(["changes.py"], {"LAPTIME_DISABLED": "1"})


def test_without_the_variable_nothing_differs(bare: Ending, tmp_path: Path) -> None:
    plain = run_changed(None, [], tmp_path)
    check_same(bare, plain.ending)
    assert plain.changes is None
    assert plain.refused == {}


def test_many_changes_are_made_at_once_and_the_fit_says_so(bare: Ending, tmp_path: Path) -> None:
    many = run_changed(MANY, [], tmp_path)
    assert many.changes == MANY.replace(",", " ")
    assert many.refused == {}
    assert many.line("validations") == ["2"]
    assert many.line("compiled") == ["False", "2"]
    assert many.line("threads") == ["1"]
    assert many.line("gc") == ["False"]
    assert many.ending.theirs == bare.theirs
    # The same samples in the same order.
    assert losses_of(many.ending) == pytest.approx(losses_of(bare), rel=1e-5)


def test_a_step_is_compiled(bare: Ending, tmp_path: Path) -> None:
    changed = run_changed("jit_compile=1", [], tmp_path)
    assert (changed.changes, changed.refused) == ("jit_compile=1", {})
    assert changed.line("compiled")[0] == "True"
    assert losses_of(changed.ending) == pytest.approx(losses_of(bare), rel=1e-4)


def test_the_first_batch_is_repeated_for_as_many_steps(tmp_path: Path) -> None:
    for kind in ("pipeline", "rows"):
        repeated = run_changed("repeat_batch=1", [kind], tmp_path / kind)
        assert repeated.changes == "repeat_batch=1"
        assert [epoch["steps"] for epoch in repeated.run.epochs] == [6, 6, 6, 6]
    assert repeated.ending.stdout.count("get") == repeated.ending.stdout.count("get 0") == 1


def test_rows_come_from_more_threads(tmp_path: Path) -> None:
    changed = run_changed("workers=2", ["rows"], tmp_path)
    assert changed.changes == "workers=2"
    assert "get" not in changed.ending.stdout
    bare = run_script(["changes.py", "rows"], {"LAPTIME_DISABLED": "1"})
    assert losses_of(changed.ending) == losses_of(bare)


NEITHER = "the data is neither a tf.data nor a PyDataset"

CANNOT = {
    "arrays": {
        "jit_compile=1": "the model runs eagerly",
        "steps_per_execution=4": "the model runs eagerly",
        "validation_freq=2": "fit has no validation data",
        "mixed_precision=fp16": "only bf16 is known",
        "prefetch=1": NEITHER,
        "workers=2": NEITHER,
        "repeat_batch=1": NEITHER,
        "parallel_map=1": "no map of a tf.data was made that is not parallel",
        "num_workers=2": "nothing in this script can be changed in this way",
    },
    "random": {
        "cache=1": "a map draws random numbers",
        "parallel_map=1": "a map draws random numbers",
        "workers=2": "the data is a tf.data",
    },
    "python": {"jit_compile=1": "the step failed with it: "},
}


@pytest.mark.parametrize("kind", CANNOT)
def test_a_script_that_cannot_take_a_change_runs_as_if_nothing_had_been_asked(
    kind: str, tmp_path: Path
) -> None:
    reasons = CANNOT[kind]
    changed, bare = both(
        lambda: run_script(["changes.py", kind], {"LAPTIME_DISABLED": "1"}),
        lambda: run_changed(",".join(reasons), [kind], tmp_path),
    )
    assert changed.ending.stdout == bare.stdout
    assert set(changed.refused) == {f"change {name}" for name in reasons}
    for name, because in reasons.items():
        assert changed.refused[f"change {name}"].startswith(because)
    assert not changed.changes


LOOP = """
import tensorflow as tf
tf.random.set_seed(3)
data = tf.data.Dataset.range(12).map(lambda at: tf.cast(at, tf.float32)).shuffle(12).batch(4)
weight = tf.Variable(1.0)
for epoch in range(3):
    for batch in data:
        print(*batch.numpy())
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(weight * batch)
        weight.assign_sub(0.01 * tape.gradient(loss, weight))
"""


def test_a_loop_written_by_hand_gets_the_same_batches(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    words = [str(tmp_path / "loop.py")]
    asked = {"LAPTIME_CHANGES": "cache=1,prefetch=1,parallel_map=1"}
    command = ["-m", "laptime", "run", "--quiet", "--dir", str(tmp_path / "runs"), "--"]
    ending = run_script([*command, sys.executable, *words], asked)
    check_same(run_script(words, {"LAPTIME_DISABLED": "1"}), ending)
    changed = Changed(ending, laptime.load(dir=tmp_path / "runs"))
    assert (changed.changes, changed.refused) == ("cache=1 prefetch=1 parallel_map=1", {})
