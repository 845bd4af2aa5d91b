"""`laptime run --profile`: planted hot functions, exports, endings, and what cannot be sampled."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

LAPTIME = [sys.executable, "-m", "laptime"]

# Ways to take a while, each as people write it. `hold` is wall time, so that a busy machine changes nothing; in
# every stage other functions take a sixth of the time.
HOT = {
    "plain loop": """
        def HOT(hold):
            end, total = perf_counter() + hold, 0
            while perf_counter() < end:
                for k in range(200):
                    total += k * k
    """,
    "generator": """
        def HOT(hold):
            end = perf_counter() + hold
            while perf_counter() < end:
                yield sum(range(300))
    """,
    "comprehension": """
        def HOT(hold):
            end = perf_counter() + hold
            while perf_counter() < end:
                any([k > 600 for k in range(500)])
    """,
    "generator expression": """
        def HOT(hold):
            end = perf_counter() + hold
            while perf_counter() < end:
                sum(k * k for k in range(500))
    """,
    "sleep": """
        def HOT(hold):
            sleep(hold)
    """,
    "recursion": """
        def HOT(hold, depth=30):
            if depth:
                return HOT(hold, depth - 1)
            end = perf_counter() + hold
            while perf_counter() < end:
                pass
    """,
    "C code": """
        def HOT(hold):
            end, rows = perf_counter() + hold, list(range(2000))
            while perf_counter() < end:
                sorted(rows, key=abs)
    """,
    "small calls": """
        def HOT(hold):
            end = perf_counter() + hold
            while perf_counter() < end:
                for k in range(100):
                    str(k).split("1")
    """,
}
KINDS = list(HOT)

PLANTED = """
from time import perf_counter, sleep
import laptime

def noise(hold):
    end = perf_counter() + hold
    while perf_counter() < end:
        pass

def waiting_noise(hold):
    sleep(hold)

%s
for trial in range(20):
    hot, stage = globals()[f"hot_{trial}"], laptime.stage(f"trial_{trial}")
    for _ in range(3):
        with stage:
            noise(0.01)
            list(hot(0.1) or ())
            waiting_noise(0.01)
print("done")
"""


def planted_source() -> str:
    functions = (
        textwrap.dedent(HOT[KINDS[trial % len(KINDS)]]).replace("HOT", f"hot_{trial}")
        for trial in range(20)
    )
    return PLANTED % "".join(functions)


def environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAPTIME_")}
    return kept | {"LAPTIME_DIR": str(folder / "runs")}


def profiled(folder: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a command under `laptime run --profile` to its end."""
    command = [*LAPTIME, "run", "--profile", *options.pop("run", []), "--", *words]
    settings = {"env": environment(folder), "cwd": folder, "capture_output": True, "text": True}
    return subprocess.run(command, timeout=120, check=False, **settings | options)


def report(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What `laptime report` says of the latest run."""
    command = [*LAPTIME, "report", *options]
    return subprocess.run(
        command, env=environment(folder), cwd=folder, capture_output=True, text=True, check=False
    )


def profile_of(folder: Path) -> dict[str, Any]:
    return json.loads(report(folder, "--json").stdout)["profile"]


def script(folder: Path, source: str) -> str:
    path = folder / "script.py"
    path.write_text(textwrap.dedent(source))
    return str(path)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with twenty stages, each with a hot function of its own."""
    folder = tmp_path_factory.mktemp("planted")
    done = profiled(folder, sys.executable, script(folder, planted_source()))
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    (folder / "summary.txt").write_text(done.stderr)
    return folder


def test_a_planted_function_is_first_in_its_stage_in_20_of_20_trials(planted: Path) -> None:
    [training] = [part for part in profile_of(planted)["parts"] if part["part"] == "training"]
    first = {stage["stage"]: stage["functions"][0] for stage in training["stages"]}
    found = [first[f"trial_{trial}"]["name"] for trial in range(20)]
    assert found == [f"hot_{trial}" for trial in range(20)]
    for trial in range(20):
        hot = first[f"trial_{trial}"]
        own = hot["own"]
        assert own["low"] <= own["mean"] <= own["high"] and own["mean"] > 0.5, hot
        assert hot["file"].endswith("script.py") and hot["line"] > 1
        sleeps = KINDS[trial % len(KINDS)] == "sleep"
        assert (hot["waiting"] > 0.8) == sleeps, hot


def test_summary_and_report_print_the_functions_and_the_measured_cost(planted: Path) -> None:
    for text in ((planted / "summary.txt").read_text(), report(planted).stdout):
        words = " ".join(text.split())
        assert "hot_" in words and "sampling cost" in words and "% of one CPU" in words
        assert all(len(line) <= 80 for line in text.splitlines())
    cost = profile_of(planted)["cost"]
    assert 0 < cost["cpu_s"] < cost["wall_s"]
    # Numbers go through text, which may cost the last digit.
    assert cost["share"] == pytest.approx(cost["cpu_s"] / cost["wall_s"], rel=1e-9)


def test_speedscope_gets_every_field_its_schema_requires(planted: Path) -> None:
    path = planted / "out.speedscope.json"
    assert report(planted, "--export", "speedscope", str(path)).returncode == 0
    document = json.loads(path.read_text())
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = document["shared"]["frames"]
    assert all(isinstance(frame["name"], str) for frame in frames)
    assert document["profiles"]
    for profile in document["profiles"]:
        assert profile["type"] == "sampled" and isinstance(profile["name"], str)
        assert profile["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds")
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= at < len(frames) for sample in profile["samples"] for at in sample)
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
    names = {frame["name"] for frame in frames}
    assert {"trial_0", "hot_0", "trial_19", "hot_19"} <= names


def test_collapsed_stacks_are_frames_and_a_number_a_line(planted: Path) -> None:
    said = report(planted, "--export", "collapsed", "-")
    stacks = [line.rsplit(" ", 1) for line in said.stdout.splitlines()]
    assert stacks and all(int(weight) >= 0 for _, weight in stacks)
    hot = [frames.split(";") for frames, _ in stacks if "hot_3 " in frames]
    assert hot and all(frames[:2] == ["training", "trial_3"] for frames in hot)
    assert all(frames[2] == "<module> (script.py:1)" for frames in hot)


def test_what_cannot_be_exported_is_refused_with_a_hint(planted: Path, tmp_path: Path) -> None:
    unknown = report(planted, "--export", "flames", "x")
    assert unknown.returncode == 2 and "speedscope" in unknown.stderr
    subprocess.run(
        [*LAPTIME, "run", "-q", "true"], env=environment(tmp_path), cwd=tmp_path, check=True
    )
    without = report(tmp_path, "--export", "collapsed", "-")
    assert without.returncode == 2 and "hint: laptime run --profile" in without.stderr


ENDINGS = {
    "prints": ("print('one'); import sys; print('two', file=sys.stderr); sys.exit(3)", 3),
    "ends at once": ("pass", 0),
    "raises": ("raise ValueError('theirs')", 1),
    "dies": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_a_command_ends_and_prints_as_without_a_profile(how: str, tmp_path: Path) -> None:
    source, code = ENDINGS[how]
    words = [sys.executable, "-c", source]
    bare = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    done = profiled(tmp_path, *words, run=["-q"])
    assert (done.returncode, done.stdout, done.stderr) == (
        bare.returncode,
        bare.stdout,
        bare.stderr,
    )
    assert done.returncode == code
    assert profile_of(tmp_path)["samples"] >= 0


def test_what_was_sampled_before_a_kill_of_the_training_is_kept(tmp_path: Path) -> None:
    source = """
        import os, signal, time
        def dying():
            end = time.perf_counter() + 0.5
            while time.perf_counter() < end:
                sum(range(100))
            os.kill(os.getpid(), signal.SIGKILL)
        dying()
    """
    done = profiled(tmp_path, sys.executable, script(tmp_path, source))
    assert done.returncode == -signal.SIGKILL
    stage = profile_of(tmp_path)["parts"][0]["stages"][0]
    assert stage["functions"][0]["name"] == "dying" and "dying" in done.stderr


def test_what_was_sampled_before_a_kill_of_laptime_is_kept(tmp_path: Path) -> None:
    source = """
        import pathlib, time
        def busy():
            end = time.perf_counter() + 30
            while time.perf_counter() < end and not pathlib.Path("stop").exists():
                sum(range(1000))
        busy()
    """
    command = [*LAPTIME, "run", "--profile", "--", sys.executable, script(tmp_path, source)]
    started = subprocess.Popen(
        command, env=environment(tmp_path), cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    while (
        not (profile := list(tmp_path.glob("runs/2*/*.ltprof"))) or profile[0].stat().st_size < 1000
    ):
        time.sleep(0.05)
    started.kill()
    started.wait()
    (tmp_path / "stop").touch()
    stage = profile_of(tmp_path)["parts"][0]["stages"][0]
    assert stage["functions"][0]["name"] == "busy"


def test_threads_are_told_apart_from_the_one_that_records(tmp_path: Path) -> None:
    source = """
        import threading, time
        import laptime
        def in_the_background():
            time.sleep(0.6)
        def in_front():
            end = time.perf_counter() + 0.5
            while time.perf_counter() < end:
                sum(range(100))
        thread = threading.Thread(target=in_the_background)
        with laptime.stage("forward"):
            thread.start()
            in_front()
        thread.join()
    """
    done = profiled(tmp_path, sys.executable, script(tmp_path, source), run=["-q"])
    assert done.returncode == 0, done.stderr
    parts = {part["part"]: part["stages"] for part in profile_of(tmp_path)["parts"]}
    forward = next(stage for stage in parts["training"] if stage["stage"] == "forward")
    assert forward["functions"][0]["name"] == "in_front"
    others = parts["others"][0]["functions"][0]
    assert others["name"] == "in_the_background" and others["waiting"] > 0.8


def test_a_command_without_python_gets_a_clear_word(tmp_path: Path) -> None:
    done = profiled(tmp_path, "sleep", "0.2")
    assert done.returncode == 0
    assert "cannot tell hot functions, because no Python process was found" in " ".join(
        done.stderr.split()
    )
    assert profile_of(tmp_path)["troubles"] == [{"what": "no_python"}]


# It may be read once before it forbids that, and is only then looked at again, on a busy machine late.
FORBIDDEN = """
import ctypes, time
PR_SET_DUMPABLE = 4
ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)
time.sleep(4)
print("untouched")
"""


def without_the_right_to_trace() -> None:
    """Gives up for good what lets root read any process, as containers do."""
    pr_capbset_drop, cap_sys_ptrace = 24, 19
    ctypes.CDLL(None).prctl(pr_capbset_drop, cap_sys_ptrace)


def test_where_memory_may_not_be_read_the_run_goes_on_and_says_why(tmp_path: Path) -> None:
    done = profiled(
        tmp_path, sys.executable, "-c", FORBIDDEN, preexec_fn=without_the_right_to_trace
    )
    assert (done.returncode, done.stdout) == (0, "untouched\n"), done.stderr
    words = " ".join(done.stderr.split())
    assert "cannot tell the hot functions of process" in words and "SYS_PTRACE" in words


def other_pythons() -> dict[str, str]:
    """Pythons of other versions that are installed; pyenv has names also for those that are not."""
    found = {}
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for version in ("3.12", "3.13"):
        candidates = [
            *sorted(root.glob(f"versions/{version}.*/bin/python")),
            shutil.which(f"python{version}"),
        ]
        works = (str(path) for path in candidates if path is not None and runs(str(path)))
        if first := next(works, None):
            found[version] = first
    return found


def runs(python: str) -> bool:
    return (
        subprocess.run([python, "-c", ""], stderr=subprocess.DEVNULL, check=False).returncode == 0
    )


OTHER_PYTHONS = other_pythons()


@pytest.mark.skipif(not OTHER_PYTHONS, reason="no other Python is installed")
@pytest.mark.parametrize("version", OTHER_PYTHONS)
def test_other_versions_of_python_are_read(version: str, tmp_path: Path) -> None:
    source = """
        import time
        def numbers(end):
            while time.perf_counter() < end:
                yield [k for k in range(100)]
        class Model:
            def täglich(self):
                return sum(len(row) for row in numbers(time.perf_counter() + 0.1))
        def hot(depth):
            if depth:
                return hot(depth - 1)
            end = time.perf_counter() + 0.5
            while time.perf_counter() < end:
                pass
        Model().täglich()
        hot(50)
    """
    done = profiled(tmp_path, str(OTHER_PYTHONS[version]), script(tmp_path, source), run=["-q"])
    assert done.returncode == 0, done.stderr
    [stage] = profile_of(tmp_path)["parts"][0]["stages"]
    names = [function["name"] for function in stage["functions"]]
    assert names[0] == "hot" and {"numbers", "Model.täglich", "<module>"} <= set(names)
    assert stage["functions"][0]["line"] == 9
