"""The time left at the two moments where it is hardest: after a slow first epoch, and after a kill and resume.

    python benches/forecast/moments.py [--repeats N]

After the first epoch: the first answer of `laptime report` once that epoch has ended, beside tqdm over steps and over
epochs at the same moment. After a resume: the last answer before the kill, and the first of the run that goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from peers import Seen, tqdm_epochs, tqdm_steps
from validate import ENVIRONMENT, HERE

# About 40 s after the first epoch, and a minute in all.
SLOW_EPOCHS = 900
RESUMED_EPOCHS = 160
KILLED_AFTER_S = 20.0
LAPTIME = str(Path(sys.executable).with_name("laptime"))


class Training:
    """A training under `laptime run` that can be asked while it goes on."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        self.marks = folder / "marks.json"
        self.marks.unlink(missing_ok=True)
        own = {
            "LAPTIME_DIR": str(folder / "runs"),
            "LAPTIME_DATA_DIR": str(folder),
            "MARKS": str(self.marks),
        }
        self.folder, self.environment = folder, {**os.environ, **ENVIRONMENT, **own}
        training = [sys.executable, str(HERE / "trainings" / words[0]), *words[1:]]
        self.began = time.time()
        self.process = subprocess.Popen(
            [LAPTIME, "run", "--quiet", "--", *training],
            cwd=folder,
            env=self.environment,
            start_new_session=True,
        )

    def ask(self, words: list[str]) -> dict:
        done = subprocess.run(
            [LAPTIME, *words, "--json"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def wait(self) -> float:
        """Seconds since 1970 at which it ended."""
        self.process.wait()
        return time.time()


def after_first_epoch(folder: Path, words: list[str]) -> str:
    """The first answer after one whole epoch, ours and tqdm's; all as shares of what was left then."""
    training = Training(folder, words)
    asked, left = 0.0, 0.0
    while training.process.poll() is None:
        report = training.ask(["report"])
        fits = report.get("fits") or [{}]
        if fits[-1].get("epochs", 0) >= 1 and report.get("time_left"):
            asked, left = time.time(), report["time_left"]["mean"]
            interval = (report["time_left"]["low"], report["time_left"]["high"])
            break
        time.sleep(0.2)
    end = training.wait()
    truth = end - asked
    marks = json.loads(training.marks.read_text())
    ends = [at - training.began for at in marks["steps"]]
    now = asked - training.began
    done = sum(at <= now for at in ends)
    epochs = [count for count in marks["epochs"] if count <= done]
    seen = Seen(ends[:done], epochs, len(ends), marks["epochs"][0], now)
    peers = [f"{tqdm(seen) / truth - 1:+.0%}" for tqdm in (tqdm_steps, tqdm_epochs)]
    held = "holds" if interval[0] <= truth <= interval[1] else "missed"
    return (
        f"{len(epochs)} epochs done, {truth:.1f} s left: laptime {left / truth - 1:+.1%} "
        f"({interval[0]:.1f}–{interval[1]:.1f} s, {held}), tqdm over steps {peers[0]}, over epochs {peers[1]}"
    )


def after_resume(folder: Path, epochs: int, seconds: float) -> str:
    """The first answer of a training that goes on where one was killed, beside the last one of that."""
    words = ["resumable.py", "--epochs", str(epochs)]
    training = Training(folder, words)
    time.sleep(seconds)
    last = training.ask(["report"])["time_left"]["mean"]
    os.killpg(training.process.pid, signal.SIGKILL)
    training.wait()
    training = Training(folder, [*words, "--resume"])
    found, asked = {}, 0.0
    while training.process.poll() is None and not found.get("left_s"):
        time.sleep(0.2)
        asked = time.time()
        found = training.ask(["predict", "--from", "latest"])
    end = training.wait()
    truth, left = end - asked, found["left_s"]
    steps = found["basis"]["steps_seen"]
    held = "holds" if left["low"] <= truth <= left["high"] else "missed"
    return (
        f"{last:.1f} s left before the kill; {asked - training.began:.1f} s after the resume "
        f"{left['mean']:.1f} s ({left['low']:.1f}–{left['high']:.1f}, {held}) where {truth:.1f} s were left: "
        f"{left['mean'] / truth - 1:+.1%}, by {steps} steps of {len(found['basis']['runs'])} runs"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    slow = ["loader.py", "--slow-first", "--rows", "3000", "--epochs", str(SLOW_EPOCHS)]
    print(f"a slow first epoch, evaluation after every epoch: {' '.join(slow)}")
    for _ in range(args.repeats):
        with tempfile.TemporaryDirectory(prefix="laptime-moments-") as folder:
            print(" ", after_first_epoch(Path(folder), slow), flush=True)
    print("killed and resumed: resumable.py")
    for _ in range(args.repeats):
        with tempfile.TemporaryDirectory(prefix="laptime-moments-") as folder:
            print(" ", after_resume(Path(folder), RESUMED_EPOCHS, KILLED_AFTER_S), flush=True)


if __name__ == "__main__":
    main()
