"""Real trainings before and after: a DataLoader and laptime.Loader in the same order, compared by laptime itself."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from entry import Entry
from pythons import Pythons
from rounds import HERE, Conditions, order
from sets import SMALL_IMAGES, Sets

TRAININGS = HERE / "trainings"
LIMIT_S = 1800
EPOCHS = 2
SEED = 0

# What a Python must have; the loader of each kind is in the scripts themselves.
NEEDS = Entry("training", "trainings", ("laptime.loader", "torch"))

_PACK = "import sys; import formats; import sets; from pathlib import Path; print(formats.packed(sets.Sets(Path(sys.argv[1])), Path(sys.argv[2])))"

_ORDER = """
import sys, numpy, laptime
pack, batch, epochs, seed, target = sys.argv[1:]
loader = laptime.Loader(pack, batch_size=int(batch), shuffle=True, seed=int(seed), output="numpy")
numpy.save(target, numpy.stack([
    numpy.concatenate([numpy.asarray(parts[0]).reshape(-1) for parts in loader]) for _ in range(int(epochs))
]).astype("int64"))
"""


class StoppedError(Exception):
    """A step of this group that failed: what it said last."""


@dataclass(frozen=True)
class Training:
    """One script, with the set it reads as it is and as a pack."""

    name: str
    batch: int
    rows: int
    source: Path
    pack: Path


def measure(conditions: Conditions, rounds: int) -> None:
    """Runs and compares both trainings, and prints what laptime says of them."""
    pythons = Pythons([NEEDS])
    python = pythons.of(NEEDS)
    if python is None:
        print(f"\nskipped: training: not installed: {', '.join(pythons.missing(NEEDS))}")
        return
    for make in (_mlp, _cnn):
        try:
            _compared(python, make(python, conditions), conditions, rounds)
        except StoppedError as error:
            print(f"\nskipped: training: {error}")


def _mlp(python: str, conditions: Conditions) -> Training:
    sets = Sets(conditions.data)
    rows = sets.rows()
    return Training(
        "mlp", 256, len(np.load(rows, mmap_mode="r")), rows, _pack(python, conditions, sets.csv())
    )


def _cnn(python: str, conditions: Conditions) -> Training:
    images = Sets(conditions.data).small_images()
    return Training("cnn", 64, SMALL_IMAGES, images, _pack(python, conditions, images))


def _pack(python: str, conditions: Conditions, source: Path) -> Path:
    said = _call([python, "-c", _PACK, str(conditions.data), str(source)], conditions)
    return Path(said.split()[-1])


def _order(python: str, training: Training, conditions: Conditions) -> Path:
    """The order of laptime's epochs: that of a pack whose rows are their own numbers."""
    folder = conditions.data / "orders"
    folder.mkdir(exist_ok=True)
    numbers = folder / f"{training.name}-numbers.npy"
    np.save(numbers, np.arange(training.rows, dtype=np.int64).reshape(-1, 1))
    pack, target = _pack(python, conditions, numbers), folder / f"{training.name}.npy"
    words = [str(pack), str(training.batch), str(EPOCHS), str(SEED), str(target)]
    _call([python, "-c", _ORDER, *words], conditions)
    drawn = np.load(target)
    if not all(np.array_equal(np.sort(epoch), np.arange(training.rows)) for epoch in drawn):
        raise StoppedError(f"{training.name}: an epoch does not visit each row exactly once")
    return target


def _compared(python: str, training: Training, conditions: Conditions, rounds: int) -> None:
    drawn = _order(python, training, conditions)
    sources = {
        "dataloader": [str(training.source), str(drawn)],
        "laptime": [str(training.pack), "-"],
    }
    runs: dict[str, list[str]] = {"dataloader": [], "laptime": []}
    losses: dict[str, list[np.ndarray]] = {"dataloader": [], "laptime": []}
    for turn in range(rounds):
        for kind in order(list(runs), turn):
            name = f"{training.name}-{kind}-{turn}"
            written = conditions.data / "losses" / f"{name}.npy"
            written.parent.mkdir(exist_ok=True)
            script = [
                python,
                str(TRAININGS / f"{training.name}.py"),
                kind,
                *sources[kind],
                str(written),
            ]
            _laptime(python, ["run", "--quiet", "--name", name, "--", *script], conditions)
            runs[kind].append(name)
            losses[kind].append(np.load(written))
    print(f"\n## training: {training.name}, DataLoader before and laptime.Loader after\n")
    print(
        _laptime(
            python, ["compare", ",".join(runs["dataloader"]), ",".join(runs["laptime"])], conditions
        )
    )
    print(
        f"losses of {len(losses['laptime'][0])} steps: {_losses(losses['dataloader'], losses['laptime'])}"
    )


def _losses(before: list[np.ndarray], after: list[np.ndarray]) -> str:
    first = before[0]
    if any(losses.shape != first.shape for losses in (*before, *after)):
        return "NOT the same number of steps"
    if any(not np.array_equal(losses, first) for losses in before):
        return "the training before does not repeat itself, so nothing can be said of the one after"
    worst = max(float(np.abs(losses - first).max()) for losses in after)
    return (
        "the same in every step, to the last bit"
        if worst == 0
        else f"NOT the same, up to {worst:.3g} apart"
    )


def _laptime(python: str, words: list[str], conditions: Conditions) -> str:
    return _call([python, "-m", "laptime", *words], conditions)


def _call(command: list[str], conditions: Conditions) -> str:
    environment = {
        **os.environ,
        "LAPTIME_DIR": str(conditions.data / "runs"),
        "OMP_NUM_THREADS": str(conditions.threads),
        "CUDA_VISIBLE_DEVICES": "",
    }
    ended = subprocess.run(
        command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=LIMIT_S
    )
    if ended.returncode != 0:
        lines = [line for line in (ended.stderr + ended.stdout).splitlines() if line.strip()]
        raise StoppedError(
            lines[-1].strip() if lines else f"{command[0]} ended with {ended.returncode}"
        )
    return ended.stdout
