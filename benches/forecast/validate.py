"""How good the time left is: trainings of half a minute and more, forecast while they run and graded at their end.

Each configuration is run several times, apart in time and in an order drawn by lot, some while other programs come
and go. `laptime run` keeps its own forecasts at 5, 20 and 50 %; what others would have said at the same moments is
replayed from the times of the steps (`peers.py`). Repeat noise is how far runs of the same configuration on a machine in
the same state are apart: nobody can forecast better than that.

    python benches/forecast/validate.py DIR [--repeats N] [--seconds S] [--only NAME ...] [--loaded | --quiet]
    python benches/forecast/validate.py DIR --grade

All that was measured is in DIR, to which later calls add; `--grade` runs nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean, median

from peers import PEERS, Seen

HERE = Path(__file__).resolve().parent
MARKS = (0.05, 0.2, 0.5)
LEAST_ERROR = 0.02  # below which no forecast has to be, whatever the repeat noise
NOISE_TIMES = 1.2
MOST_BIAS = 0.03
LEVEL = 0.9
TUNING_EPOCHS = 8
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "",
}


@dataclass(frozen=True)
class Case:
    """A training; `counted` is the option that says how long it is."""

    name: str
    words: tuple[str, ...]
    counted: str = "--epochs"

    @property
    def is_reference(self) -> bool:
        return self.words[0] == "train"


def loader(name: str, *words: str) -> Case:
    return Case(name, ("loader.py", *words))


CASES = [
    loader("table", "--checkpoint", "2"),
    loader("table b32", "--batch", "32", "--checkpoint", "2"),
    loader("table b256", "--batch", "256", "--checkpoint", "2"),
    loader("table rows", "--rows", "32768", "--checkpoint", "2"),
    loader("table w1", "--workers", "1", "--checkpoint", "2"),
    loader("pictures", "--data", "pictures", "--rows", "4096"),
    loader("pictures b16", "--data", "pictures", "--rows", "4096", "--batch", "16"),
    loader("pictures w1", "--data", "pictures", "--rows", "4096", "--workers", "1"),
    loader("pictures w2", "--data", "pictures", "--rows", "4096", "--workers", "2"),
    loader("storage", "--data", "storage", "--rows", "2048", "--evaluate", "2"),
    loader(
        "storage w2", "--data", "storage", "--rows", "2048", "--evaluate", "2", "--workers", "2"
    ),
    loader(
        "storage w4", "--data", "storage", "--rows", "2048", "--evaluate", "2", "--workers", "4"
    ),
    loader("slow first", "--slow-first", "--rows", "3000"),
    Case("steps", ("steps.py",), "--steps"),
    Case("steps b32", ("steps.py", "--batch", "32"), "--steps"),
    Case("keras", ("keras_fit.py", "--checkpoint", "1")),
    Case("keras b256", ("keras_fit.py", "--batch", "256", "--checkpoint", "1")),
    Case("reference mlp", ("train", "mlp", "--rows", "20000")),
    Case("reference lstm", ("train", "lstm", "--rows", "2000")),
]


@dataclass
class Run:
    """A training that was run to its end."""

    case: str
    loaded: bool
    id: str
    took_s: float
    began: float  # seconds since 1970
    count: int  # epochs or steps


class Bench:
    """The folder with everything that was measured."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder = folder.resolve()
        self.seconds = seconds
        (self.folder / "runs").mkdir(parents=True, exist_ok=True)
        beside = Path(sys.executable).with_name("laptime")
        self.laptime = str(beside if beside.exists() else shutil.which("laptime"))
        self.log = self.folder / "runs.jsonl"

    def runs(self) -> list[Run]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [Run(**json.loads(line)) for line in lines]

    def command(self, case: Case, count: int) -> list[str]:
        words = [*case.words[1:], case.counted, str(count)]
        if case.is_reference:
            return [self.laptime, "train", *words, "--quiet"]
        training = [sys.executable, str(HERE / "trainings" / case.words[0]), *words]
        return [self.laptime, "run", "--quiet", "--name", case.name, "--", *training]

    def call(self, words: list[str], kept: str, marks: Path | None = None) -> str:
        """Runs laptime; a training among its words is at work in a folder of its own."""
        own = {"LAPTIME_DIR": str(self.folder / kept), "LAPTIME_DATA_DIR": str(self.folder / kept)}
        if marks is not None:
            own["MARKS"] = str(marks)
        with scratch() as folder:
            done = subprocess.run(
                words,
                cwd=folder,
                env={**os.environ, **ENVIRONMENT, **own},
                capture_output=True,
                text=True,
            )
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)}: {done.stderr}")
        return done.stdout

    def report(self, kept: str) -> dict:
        return json.loads(self.call([self.laptime, "report", "--json"], kept))

    def count_of(self, case: Case) -> int:
        """Epochs or steps for a run of the seconds asked for, by a short one the first time."""
        path = self.folder / "counts.json"
        counts = json.loads(path.read_text()) if path.exists() else {}
        if case.name not in counts:
            short = 300 if case.counted == "--steps" else TUNING_EPOCHS
            self.call(self.command(case, short), "tuning")
            report = self.report("tuning")
            fit = report["fits"][-1]
            ended = [epoch["wall_s"] for epoch in report["epochs"]][1:] or [fit["wall_s"]]
            each = fmean(ended) if case.counted == "--epochs" else fit["wall_s"] / short
            start = report["wall_s"] - fit["wall_s"]
            counts[case.name] = max(round((self.seconds - start) / each), 3)
            path.write_text(json.dumps(counts, indent=1))
        return counts[case.name]

    def run(self, case: Case, loaded: bool) -> Run:
        count = self.count_of(case)
        marks = self.folder / "marks.json"
        marks.unlink(missing_ok=True)
        with load() if loaded else nullcontext():
            began = time.time()
            self.call(self.command(case, count), "runs", marks)
        report = self.report("runs")
        run = Run(case.name, loaded, report["run"]["id"], report["wall_s"], began, count)
        if marks.exists():
            marks.rename(self.folder / f"{run.id}.marks.json")
        with self.log.open("a") as file:
            print(json.dumps(asdict(run)), file=file)
        return run


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that trainings write their checkpoints to."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="laptime-forecast-") as folder:
        yield Path(folder)


@contextmanager
def load() -> Iterator[None]:
    """Other programs that come and go: up to two busy loops, as many as the lot says for some seconds."""
    over = threading.Event()

    def change() -> None:
        loops: list[subprocess.Popen[bytes]] = []
        while not over.is_set():
            wanted = random.randrange(3)
            while len(loops) > wanted:
                loops.pop().kill()
            while len(loops) < wanted:
                loops.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            over.wait(random.uniform(2, 10))
        for loop in loops:
            loop.kill()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@dataclass
class Graded:
    """A forecast beside what came of it; seconds."""

    run: Run
    mark: float
    who: str
    predicted: float
    interval: tuple[float, float] | None

    @property
    def off(self) -> float:
        """Above 0 where the run took longer."""
        return self.run.took_s / self.predicted - 1

    @property
    def is_covered(self) -> bool:
        assert self.interval
        return self.interval[0] <= self.run.took_s <= self.interval[1]


def graded(bench: Bench) -> list[Graded]:
    """All forecasts, ours and the others' at the same moments."""
    runs = {run.id: run for run in bench.runs()}
    path = bench.folder / "runs" / "forecasts.jsonl"
    found = []
    for line in filter(None, path.read_text().splitlines()):
        grade = json.loads(line)
        run = runs.get(grade["run"])
        if run is None or grade["mark"] not in MARKS:
            continue
        interval = (grade["low_s"], grade["high_s"])
        found.append(Graded(run, grade["mark"], "laptime", grade["predicted_s"], interval))
        seen = seen_at(bench, run, grade["seen_s"])
        for name, peer in PEERS.items() if seen else ():
            left = peer(seen)
            if left is not None:
                found.append(Graded(run, grade["mark"], name, grade["seen_s"] + left, None))
    return found


def seen_at(bench: Bench, run: Run, now: float) -> Seen | None:
    path = bench.folder / f"{run.id}.marks.json"
    if not path.exists():
        return None
    marks = json.loads(path.read_text())
    ends = [end - run.began for end in marks["steps"]]
    done = sum(end <= now for end in ends)
    epochs = [count for count in marks["epochs"] if count <= done]
    per_epoch = marks["epochs"][0] if marks["epochs"] else None
    return Seen(ends[:done], epochs, len(ends), per_epoch, now)


def repeat_noise(runs: list[Run]) -> float | None:
    """Mean distance of runs from the mean of the others of their configuration, as a share."""
    same = defaultdict(list)
    for run in runs:
        same[run.case].append(run.took_s)
    apart = [
        abs(took / fmean(others) - 1)
        for all_took in same.values()
        if len(all_took) > 1
        for at, took in enumerate(all_took)
        for others in [all_took[:at] + all_took[at + 1 :]]
    ]
    return fmean(apart) if apart else None


def wilson(held: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    share, z = held / count, 1.96**2 / count
    half = sqrt(share * (1 - share) * z + z * z / 4) / (1 + z)
    middle = (share + z / 2) / (1 + z)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def show(bench: Bench) -> None:
    all_graded = graded(bench)
    for loaded, state in ((False, "quiet"), (True, "loaded")):
        runs = [run for run in bench.runs() if run.loaded == loaded]
        if not runs:
            continue
        noise = repeat_noise(runs)
        took = sorted(run.took_s for run in runs)
        noise_text = "unknown" if noise is None else f"{noise:.1%}"
        print(
            f"\n{state}: {len(runs)} runs of {took[0]:.0f}–{took[-1]:.0f} s, repeat noise {noise_text}"
        )
        print("at    who           forecasts  mean error  median    bias  coverage (95 %)    width")
        for mark in MARKS:
            for who in ["laptime", *PEERS]:
                these = [
                    one
                    for one in all_graded
                    if one.who == who and one.mark == mark and one.run.loaded == loaded
                ]
                if these:
                    print(row(mark, who, these, noise))


def row(mark: float, who: str, these: list[Graded], noise: float | None) -> str:
    error = fmean(abs(one.off) for one in these)
    middle = median(abs(one.off) for one in these)
    bias = median(one.off for one in these)
    text = f"{mark:4.0%}  {who:13} {len(these):9}  {error:10.1%}  {middle:6.1%}  {bias:+6.1%}"
    if these[0].interval is None:
        return text
    held = sum(one.is_covered for one in these)
    low, high = wilson(held, len(these))
    width = median(log(one.interval[1] / one.interval[0]) / 2 for one in these if one.interval)
    bar = max(LEAST_ERROR, NOISE_TIMES * (noise or 0))
    missed = [
        name
        for name, is_missed in (
            (f"error > {bar:.1%}", error > bar),
            ("bias", abs(bias) > MOST_BIAS),
            ("coverage", not low <= LEVEL <= high),
        )
        if is_missed
    ]
    verdict = f"  missed: {', '.join(missed)}" if missed else "  holds"
    return f"{text}  {held / len(these):4.0%} ({low:3.0%}–{high:4.0%})  ±{exp(width) - 1:5.1%}{verdict}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--grade", action="store_true")
    state = parser.add_mutually_exclusive_group()
    state.add_argument("--loaded", action="store_true")
    state.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    bench = Bench(args.folder, args.seconds)
    if not args.grade:
        cases = [case for case in CASES if not args.only or case.name in args.only]
        states = [True] if args.loaded else [False] if args.quiet else [False, True]
        for case in cases:
            bench.count_of(case)
        order = [(case, loaded) for case in cases for loaded in states] * args.repeats
        random.shuffle(order)
        for at, (case, loaded) in enumerate(order, 1):
            run = bench.run(case, loaded)
            state_text = "loaded" if loaded else "quiet"
            print(
                f"{at}/{len(order)} {case.name}, {state_text}: {run.took_s:.1f} s", file=sys.stderr
            )
    show(bench)


if __name__ == "__main__":
    main()
