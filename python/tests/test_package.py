"""The package itself: what it costs to import, what it exports, and runs that are loaded."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import laptime
import pytest
from conftest import Script
from laptime import _native

ROOT = Path(laptime.__file__).parent


def test_importing_is_quick_and_imports_no_framework() -> None:
    source = """
import sys, time
before = set(sys.modules)
began = time.perf_counter()
import laptime
print(time.perf_counter() - began)
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""
    times = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", source], capture_output=True, text=True, check=True
        )
        seconds, modules = done.stdout.splitlines()
        times.append(float(seconds))
    assert min(times) <= 0.030, times
    heavy = {"torch", "numpy", "pandas", "jax", "tensorflow", "keras", "asyncio", "multiprocessing"}
    assert not heavy & set(modules.split())


def test_stubs_say_what_the_built_module_has() -> None:
    path = Path(__file__).parents[1] / "stubs.py"
    spec = importlib.util.spec_from_file_location("stubs", path)
    stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stubs)
    written = path.parent / "laptime" / "_native.pyi"
    assert written.read_text() == stubs.text(), f"run `python {path}`"


def test_a_run_is_loaded_and_shown_like_the_command_does(script: Script) -> None:
    done = script(
        """
        import laptime
        for epoch in laptime.epochs(2, label="tiny"):
            for batch in laptime.batches(range(3)):
                pass
        """
    )
    run = done.run
    assert run.status == "finished" and len(run.fits) == 1 and len(run.epochs) == 2
    assert json.loads(json.dumps(run.to_dict()))["schema"] == "laptime.report/1"
    assert repr(run).startswith("<laptime.Run 20")
    command = [sys.executable, "-m", "laptime", "report", "--dir", str(done.folder)]
    shown = subprocess.run(command, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.strip() == str(run)
    assert laptime.load(Path(run.path).name, dir=done.folder).path == run.path


def test_very_many_epochs_are_folded_unless_all_are_asked_for(script: Script) -> None:
    done = script(
        """
        import time

        import laptime
        for epoch in laptime.epochs(10_100):
            for batch in laptime.batches([1]):
                time.sleep(5e-5)
        """
    )
    folded, every = done.run.epochs, laptime.load(dir=done.folder, epochs="all").epochs
    assert len(folded) < 10_000 and sum(row["count"] for row in folded) == len(every) == 10_100
    assert {row["kind"] for row in folded} == {"epoch", "folded"}
    assert [row["index"] for row in every] == list(range(10_100))
    with pytest.raises(ValueError, match="epochs is None or"):
        laptime.load(dir=done.folder, epochs="some")


def test_a_run_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no run"):
        laptime.load(dir=tmp_path)


def test_epochs_as_a_table(script: Script) -> None:
    pandas = pytest.importorskip("pandas")
    done = script("import laptime\nfor _ in laptime.epochs(2):\n    list(laptime.batches([1]))")
    table = done.run.to_pandas()
    assert isinstance(table, pandas.DataFrame) and len(table) == 2 and "wall_s" in table


def test_the_command_ends_with_its_own_codes(tmp_path: Path) -> None:
    for arguments, code in [(["--version"], 0), (["nonsense"], 2), (["report", "--dir", "x"], 2)]:
        command = [sys.executable, "-m", "laptime", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == code, done.stderr


def test_hooks_never_raise_without_a_recorder() -> None:
    if _native.is_active():
        pytest.skip("another test records in this process")
    assert _native.fit_begin({"rows": "many", 3: 4}) == -1
    assert _native.epoch_begin() == -1
    _native.epoch_end()
    _native.exit(60_000)
    model = object()
    assert _native.begin_call(model) == 4
    _native.register_module(model, _native.MODULE_MODEL)
    assert _native.begin_call(model) is True
    _native.end_call()
    _native.train_model(model)
    _native.end_backward()
    _native.end_zero()
    _native.end_update(model)
    assert not _native.request(model)
    assert not _native.take_batch(model, [])
    _native.count_samples(model, 2**63)
    _native.iterate(17, model)
    _native.end_pass(17, True)
    _native.forget_module(id(model))
    _native.end_training()
    # Not inside anything, and forgotten.
    assert _native.begin_call(model) == 4
    _native.begin_framework_fit({"rows": "many"})
    _native.begin_framework_epoch(True)
    _native.step_submitted(3)
    _native.step_computed(5, 1)
    _native.begin_framework_epoch(False)
    _native.request_batch()
    _native.batch_arrived(2**63)
    _native.count_step(7, 2**63)
    _native.data_exhausted()
    _native.end_framework_fit()
    _native.end_framework_fit()
    _native.count("no such counter", 1)
    _native.measured("no such metric", 1.0)
    _native.fit_update({})
    _native.fit_end()
    assert _native.finish() is None


def test_any_number_of_names_is_fine(script: Script) -> None:
    done = script(
        """
        import laptime
        for number in range(1000):
            with laptime.stage(f"stage {number} \\U0001f3c1" * 10):
                pass
        """
    )
    assert sum(row["count"] for row in done.run.ledger if row["stage"] == "<other>") >= 700
