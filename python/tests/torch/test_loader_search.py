"""`laptime advise --loader`: real loaders are measured, and what cannot be is refused in clear words."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

WAITING = """
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Waiting(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, index):
        time.sleep(0.002)
        print("a sample")
        return torch.zeros(4), index

def make_loader():
    return DataLoader(Waiting(), batch_size=8, shuffle=True)

if __name__ == "__main__":
    raise SystemExit("the script itself must not run")
"""


def environment() -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "80"}


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "laptime", "advise", *words]


def advise(
    folder: Path, script: str, *words: str, name: str = "train.py"
) -> subprocess.CompletedProcess[str]:
    (folder / name).write_text(textwrap.dedent(script))
    return subprocess.run(
        command(*words),
        env=environment() | {"LAPTIME_DIR": str(folder / "runs")},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def found(folder: Path, script: str, *words: str) -> dict[str, Any]:
    done = advise(folder, script, "--loader", "train.py:make_loader", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(folder: Path, script: str, *words: str, function: str = "make_loader") -> str:
    """What is said on standard error, its lines joined."""
    done = advise(folder, script, "--loader", f"train.py:{function}", *words)
    assert done.returncode == 1 and done.stdout == "", (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def living(marker: str) -> list[str]:
    """Commands whose environment has the marker and which still run."""
    alive = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            variables = (process / "environ").read_bytes()
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if marker.encode() in variables and state != "Z":
            alive.append((process / "cmdline").read_bytes().decode().replace("\0", " ")[:80])
    return alive


def nobody_lives(marker: str, seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while living(marker) and time.monotonic() < until:
        time.sleep(0.05)
    return not living(marker)


def test_a_loader_that_waits_gets_workers_and_the_evidence_is_printed(tmp_path: Path) -> None:
    done = advise(tmp_path, WAITING, "--loader", "train.py:make_loader")
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert all(len(line) <= 80 for line in text.splitlines()), text
    assert "needs: unknown" in text and "choice: num_workers=" in text
    assert "  DataLoader(..., num_workers=" in text and "prefetch_factor=" in text
    assert "measured" in text and "settings in" in text
    # What the script prints is nobody's here.
    assert "a sample" not in text and "a sample" not in done.stderr


def test_the_document_has_every_setting_with_its_rate_and_the_choice(tmp_path: Path) -> None:
    document = found(tmp_path, WAITING)
    assert document["schema"] == "laptime.loader/1" and document["batches_per_pass"] == 80
    first, *others = document["points"]
    assert first["setting"]["workers"] == 0 and first["setting"]["prefetch"] is None
    # 2 ms a sample: never more than 500 a second in one process.
    assert 50 < first["samples_per_s"] < 505 and first["main_cpus"] < 0.6
    choice = document["choice"]
    assert choice["point"]["setting"]["workers"] >= 2 and choice["over_no_workers"] > 1.5
    rates = [point["samples_per_s"] for point in others]
    assert choice["point"]["samples_per_s"] >= 0.97 * max(rates)
    assert len(document["points"]) < document["settings"]


def test_a_need_is_met_by_the_cheapest_setting(tmp_path: Path) -> None:
    document = found(tmp_path, WAITING, "--needs", "300")
    assert document["needs"] == {"samples_per_s": 300.0, "run": None}
    assert document["choice"]["meets_need"] is True
    assert document["choice"]["limit"]["kind"] == "need_met"
    assert document["choice"]["point"]["setting"]["workers"] in (1, 2)


def test_the_latest_run_shows_what_the_model_needs(tmp_path: Path) -> None:
    script = """
    import time
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    def make_loader():
        return DataLoader(TensorDataset(torch.randn(640, 4)), batch_size=8)

    if __name__ == "__main__":
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        for epoch in range(2):
            for (x,) in make_loader():
                optimizer.zero_grad()
                model(x).sum().backward()
                time.sleep(0.01)
                optimizer.step()
    """
    (tmp_path / "train.py").write_text(textwrap.dedent(script))
    trained = [sys.executable, "-m", "laptime", "run", "-q", "--", sys.executable, "train.py"]
    folder = {"LAPTIME_DIR": str(tmp_path / "runs")}
    subprocess.run(trained, env=environment() | folder, cwd=tmp_path, check=True, timeout=200)
    needs = found(tmp_path, script)["needs"]
    # 8 samples in a step of at least 10 ms.
    assert 100 < needs["samples_per_s"] < 800 and needs["run"]


def test_batch_sizes_are_tried_when_asked_for(tmp_path: Path) -> None:
    document = found(tmp_path, WAITING, "--batch", "4,8")
    assert {point["setting"]["batch"] for point in document["points"]} == {4, 8}
    assert document["points"][0]["setting"]["batch"] == 8, "the loader's own first"


def test_a_module_serves_as_well_as_a_file(tmp_path: Path) -> None:
    done = advise(tmp_path, WAITING, "--loader", "train:make_loader", "--budget", "5s", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["choice"]


def test_a_stream_that_shares_its_samples_out_is_measured_and_one_that_repeats_them_is_refused(
    tmp_path: Path,
) -> None:
    stream = """
    import time
    import torch
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Stream(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            first, apart = (info.id, info.num_workers) if info and SHARES else (0, 1)
            for number in range(first, 640, apart):
                time.sleep(0.001)
                yield torch.tensor([float(number)])

    def make_loader():
        return DataLoader(Stream(), batch_size=8)
    """
    shares = found(tmp_path, f"SHARES = True\n{textwrap.dedent(stream)}")
    assert shares["choice"]["point"]["setting"]["workers"] >= 1
    words = refused(tmp_path, f"SHARES = False\n{textwrap.dedent(stream)}")
    assert "every worker reads the same samples" in words and "get_worker_info" in words
    assert "kept: num_workers=" in words


BAD = {
    "import": ("import no_such_thing\n", "could not import train.py: ModuleNotFoundError"),
    "syntax": ("def make_loader(:\n", "could not import train.py: SyntaxError"),
    "missing": (
        "def build_loader(): pass\n",
        "`make_loader` is not there in train.py hint: functions there: build_loader",
    ),
    "raises": (
        "def make_loader():\n    raise ValueError('no such split')\n",
        "make_loader() failed: ValueError: no such split (train.py:2)",
    ),
    "exits": ("import sys\nsys.exit(3)\n", "could not import train.py: SystemExit"),
    "not a loader": ("def make_loader(): return [1, 2]\n", "it returned a list, not a DataLoader"),
    "arguments": ("def make_loader(path): pass\n", "make_loader() failed: TypeError"),
    "dies": ("import os\nos._exit(7)\n", "its Python ended with exit code 7"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_loader_is_refused_in_clear_words(case: str, tmp_path: Path) -> None:
    script, expected = BAD[case]
    words = refused(tmp_path, script)
    assert "could not measure the loader of `train.py:make_loader`" in words
    assert expected in words, words


SMALL = """
import torch
from torch.utils.data import DataLoader, TensorDataset

def make_loader():
    return DataLoader(TensorDataset(torch.zeros(ROWS)), batch_size=8, drop_last=True)
"""


def test_a_dataset_of_three_batches_is_too_small_and_one_without_any_is_empty(
    tmp_path: Path,
) -> None:
    assert "a pass over its loader is 3 batches" in refused(tmp_path, f"ROWS = 24\n{SMALL}")
    assert "its loader has no batches" in refused(tmp_path, f"ROWS = 7\n{SMALL}")


def test_a_sample_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    script = WAITING.replace("time.sleep(0.002)", "raise KeyError('label')")
    words = refused(tmp_path, script)
    assert "with num_workers=0: KeyError: 'label' (train.py:11)" in words, words


def test_a_lambda_that_spawned_workers_cannot_get_is_explained(tmp_path: Path) -> None:
    script = WAITING.replace(
        "batch_size=8",
        "batch_size=8, collate_fn=lambda rows: rows, multiprocessing_context='spawn'",
    )
    # With a context a loader must have workers to begin with.
    words = refused(tmp_path, script.replace("batch_size=8", "batch_size=8, num_workers=1"))
    assert "with num_workers=1" in words and "no lambda" in words, words


def test_a_file_or_a_python_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = advise(tmp_path, "", "--loader", "other.py:make_loader")
    assert done.returncode == 1 and "there is no file other.py" in done.stderr
    done = advise(tmp_path, "", "--loader", "train.py:make_loader", "--python", "/no/python")
    assert done.returncode == 1 and "--python PATH" in done.stderr
    done = advise(tmp_path, "", "--loader", "train.py")
    assert done.returncode == 2 and "train.py:make_loader" in done.stderr


def test_a_loader_that_hangs_is_ended_with_all_its_workers(tmp_path: Path) -> None:
    script = WAITING.replace("time.sleep(0.002)", "time.sleep(0.002 if index % 8 else 3600)")
    marker = f"HANGS={tmp_path}"
    (tmp_path / "train.py").write_text(script)
    words = command("--loader", "train.py:make_loader", "--budget", "1s")
    done = subprocess.run(
        words,
        env=environment() | dict([marker.split("=")]),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1 and "no batch came for" in done.stderr, done.stderr
    assert nobody_lives(marker), living(marker)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_running_however_the_search_is_ended(how: int, tmp_path: Path) -> None:
    marker = f"ENDED={tmp_path}"
    # Slow enough to be in the middle of it.
    (tmp_path / "train.py").write_text(WAITING.replace("0.002", "0.05"))
    search = subprocess.Popen(
        command("--loader", "train.py:make_loader"),
        env=environment() | dict([marker.split("=")]),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while len(living(marker)) < 4 and time.monotonic() < until:
        time.sleep(0.05)
    search.send_signal(how)
    out, _ = search.communicate(timeout=30)
    assert nobody_lives(marker), living(marker)
    if how != signal.SIGKILL:
        assert search.returncode == 130 and "interrupted: the choice is the best so far" in out, out
