"""Packing a CSV, against what reads one: one function for each."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
from entry import Entries, Setting, Task
from sets import FEATURES

ENTRIES = Entries()

NAMES = [f"x{index}" for index in range(FEATURES)] + ["y"]


def pack_here(source: Path, target: Path, *options: str) -> None:
    """`laptime pack` in this process, so that no start of Python is counted, as none is for peers."""
    from laptime.__main__ import main

    shutil.rmtree(target, ignore_errors=True)
    sys.argv = ["laptime", "pack", str(source), "-o", str(target), "--quiet", *options]
    status = main()
    if status:
        raise SystemExit(f"laptime pack ended with {status}")


def _megabytes(setting: Setting) -> float:
    return setting.sets.csv().stat().st_size / 1e6


def _exact(setting: Setting, read: np.ndarray) -> str:
    wanted = np.load(setting.sets.rows())
    if read.shape != wanted.shape:
        return f"{read.shape} instead of {wanted.shape}"
    wrong = int((read.astype(np.float32).view(np.uint32) != wanted.view(np.uint32)).sum())
    return "bit-exact" if wrong == 0 else f"{wrong} of {wanted.size} values differ in the last bits"


def _packed_rows(pack: Path) -> np.ndarray:
    """The rows of a pack, read by pyarrow, which knows nothing of laptime."""
    import pyarrow

    parts = []
    for part in sorted(pack.glob("*.arrow")):
        with pyarrow.memory_map(str(part)) as file:
            table = pyarrow.ipc.open_file(file).read_all()
            x = table.column("x").combine_chunks().flatten().to_numpy().reshape(-1, FEATURES)
            parts.append(np.column_stack([x, table.column("y").to_numpy()]))
    return np.concatenate(parts)


@ENTRIES.task("laptime pack, written and synced", "laptime.loader", "pyarrow")
def laptime_csv(setting: Setting) -> Task:
    source, target = setting.sets.csv(), setting.sets.folder / "timed" / "rows.pack"
    target.parent.mkdir(exist_ok=True)
    threads = ("--threads", str(setting.threads))
    return Task(
        lambda: pack_here(source, target, *threads),
        _megabytes(setting),
        lambda _: _exact(setting, _packed_rows(target)),
    )


@ENTRIES.task("pandas.read_csv, C engine, threads", "pandas")
def pandas_csv(setting: Setting) -> Task:
    return _pandas(setting, setting.threads)


@ENTRIES.task("pandas.read_csv, C engine, 1 thread", "pandas", serial=True)
def pandas_csv_1(setting: Setting) -> Task:
    return _pandas(setting, 1)


def _pandas(setting: Setting, threads: int) -> Task:
    import pandas

    # From 3.1 the C engine reads large files in threads; before, it had one, and no such option.
    if _has_option(pandas, "mode.max_threads"):
        pandas.set_option("mode.max_threads", threads)
    source = setting.sets.csv()
    types = dict.fromkeys(NAMES, "float32")
    return Task(
        lambda: pandas.read_csv(source, engine="c", dtype=types),
        _megabytes(setting),
        lambda table: _exact(setting, table.to_numpy()),
    )


def _has_option(pandas, name: str) -> bool:
    try:
        pandas.get_option(name)
    except KeyError:
        return False
    return True


@ENTRIES.task("polars.read_csv", "polars")
def polars_csv(setting: Setting) -> Task:
    import polars

    source = setting.sets.csv()
    schema = dict.fromkeys(NAMES, polars.Float32)
    return Task(
        lambda: polars.read_csv(source, schema=schema),
        _megabytes(setting),
        lambda table: _exact(setting, table.to_numpy()),
    )


@ENTRIES.task("pyarrow.csv.read_csv", "pyarrow")
def pyarrow_csv(setting: Setting) -> Task:
    import pyarrow
    import pyarrow.csv

    pyarrow.set_cpu_count(setting.threads)
    source = setting.sets.csv()
    convert = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(NAMES, pyarrow.float32()))
    return Task(
        lambda: pyarrow.csv.read_csv(source, convert_options=convert),
        _megabytes(setting),
        lambda table: _exact(
            setting, np.column_stack([column.to_numpy() for column in table.columns])
        ),
    )
