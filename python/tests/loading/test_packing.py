"""`laptime pack` of Python datasets, functions over chunks, and tables: what comes out is what was given, to the bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .conftest import pack


def script(folder: Path, text: str, name: str = "data.py") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def columns(path: Path) -> dict[str, list[object]]:
    """The columns of a pack as pyarrow reads them."""
    ipc = pytest.importorskip("pyarrow.ipc")
    tables = [ipc.open_file(part).read_all() for part in sorted(path.glob("part-*.arrow"))]
    return {
        name: [row for table in tables for row in table[name].to_pylist()]
        for name in tables[0].column_names
    }


def test_a_stream_is_packed_once_in_its_order_with_or_without_a_function(tmp_path: Path) -> None:
    data = script(
        tmp_path,
        """
        import numpy as np
        class IterableDataset:
            # As PyTorch's: a __getitem__ that only raises.
            def __getitem__(self, index): raise NotImplementedError
        class Rows(IterableDataset):
            def __len__(self): return 3000
            def __iter__(self):
                for row in range(3000):
                    yield np.full(500, row, dtype=np.float32), row
        rows = Rows()
        def same(x, y): return x, y
        """,
    )
    for name, options in (("plain", []), ("mapped", ["--map", f"{data}:same"])):
        pack(f"{data}:rows", "-o", tmp_path / f"{name}.pack", "--threads", 2, *options)
        assert columns(tmp_path / f"{name}.pack")["y"] == list(range(3000))


def test_a_function_sees_every_row_of_a_csv_file_wherever_its_quotes_are(tmp_path: Path) -> None:
    prep = script(tmp_path, "def same(x, y): return x, y", "prep.py")
    for quoted in (0, 250_000):
        rows = [f'"{row}",{row}' if row == quoted else f"{row},{row}" for row in range(300_000)]
        (tmp_path / "a.csv").write_text("a,b\n" + "\n".join(rows))
        pack(
            tmp_path / "a.csv",
            "--map",
            f"{prep}:same",
            "-o",
            tmp_path / "a.pack",
            "--force",
            "--threads",
            2,
        )
        assert columns(tmp_path / "a.pack")["y"] == list(range(300_000))


def test_a_function_may_drop_all_rows_of_a_chunk_and_return_sequences_of_one_length(
    tmp_path: Path,
) -> None:
    np.save(tmp_path / "big.npy", np.arange(1_000_000, dtype=np.int64))
    prep = script(
        tmp_path,
        """
        def some(x):
            x = x[(x < 10) | (x >= 999_990)]
            return {"id": x, "tokens": [list(range(n % 3 if n < 999_990 else 2)) for n in x]}
        """,
        "prep.py",
    )
    pack(tmp_path / "big.npy", "--map", f"{prep}:some", "-o", tmp_path / "x.pack")
    found = columns(tmp_path / "x.pack")
    assert found["id"] == [*range(10), *range(999_990, 1_000_000)]
    assert [len(row) for row in found["tokens"]] == [n % 3 for n in range(10)] + [2] * 10


def test_numbers_are_refused_rather_than_changed(tmp_path: Path) -> None:
    data = script(
        tmp_path,
        """
        import numpy as np
        whole = [(np.int32(row), 0) for row in range(400)]
        whole[399] = (np.int64(2**40), 0)
        fine = [(np.int32(row), 0) for row in range(400)]
        fine[399] = (np.int64(7), 0)
        """,
    )
    failed = pack(f"{data}:whole", "-o", tmp_path / "x.pack", code=1)
    assert "sample 399: column `x` is int64 here, which int32" in " ".join(failed.stderr.split())
    assert not (tmp_path / "x.pack").exists()
    pack(f"{data}:fine", "-o", tmp_path / "x.pack")
    assert columns(tmp_path / "x.pack")["x"] == [*range(399), 7]


def test_what_cannot_be_packed_is_named_with_its_sample_and_column(tmp_path: Path) -> None:
    data = script(
        tmp_path,
        """
        missing = [(1.0, None), (2.0, 1)]
        def raises():
            for row in range(100):
                if row == 70: raise ValueError("row 70 is odd")
                yield {"x": row}
        ragged = [([[1, 2]],), ([[1], [2]],)]
        empty = []
        """,
    )
    for name, words in (
        ("missing", "sample 0: column `y` has a NoneType"),
        ("raises", "sample 70: ValueError: row 70 is odd"),
        ("ragged", "arrays of different shapes"),
        ("empty", "the dataset has no samples"),
        ("other", "has no `other`; it has missing, raises, ragged, empty"),
    ):
        failed = pack(f"{data}:{name}", "-o", tmp_path / "x.pack", code=1)
        assert words in " ".join(failed.stderr.split()), failed.stderr
        assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == [
            "data.py"
        ]


def test_what_a_dataset_prints_is_shown_and_is_no_part_of_the_result(tmp_path: Path) -> None:
    data = script(
        tmp_path,
        """
        class Rows:
            def __len__(self): return 2
            def __getitem__(self, row):
                print("row", row)
                return row
        """,
    )
    ended = pack(f"{data}:Rows", "-o", tmp_path / "x.pack", "--json")
    assert json.loads(ended.stdout)["rows"] == 2
    assert ended.stderr.splitlines().count("row 1") == 2  # looked at once, then packed


def test_an_interrupt_ends_whatever_a_dataset_does(tmp_path: Path) -> None:
    data = script(
        tmp_path,
        """
        import multiprocessing, os, pathlib, time
        here = pathlib.Path(__file__).parent
        def pool(): time.sleep(1000)
        class Packing:
            stuck_at = 3
            def __init__(self):
                # It holds the pipes of its parent open.
                process = multiprocessing.get_context("fork").Process(target=pool, daemon=True)
                process.start()
                (here / "pids").write_text(f"{os.getpid()} {process.pid}")
            def __len__(self): return 10_000_000
            def __getitem__(self, row):
                if row == self.stuck_at:
                    (here / "stuck").touch()
                    time.sleep(1000)
                return row
        class Opening(Packing):
            stuck_at = 0
            def __init__(self): (here / "pids").write_text(str(os.getpid()))
        """,
    )
    for name in ("Packing", "Opening"):
        words = ["pack", f"{data}:{name}", "-o", str(tmp_path / "x.pack"), "--threads", "1"]
        packing = subprocess.Popen(
            [sys.executable, "-m", "laptime", *words], stderr=subprocess.PIPE, text=True
        )
        wait_until((tmp_path / "stuck").exists)
        packing.send_signal(signal.SIGINT)
        _, said = packing.communicate(timeout=30)
        assert packing.returncode == 130, said
        assert said.startswith("stopped"), said
        pids = (tmp_path / "pids").read_text().split()
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))
        (tmp_path / "stuck").unlink()
        assert not list(tmp_path.glob("x.pack*"))


def test_a_worker_that_dies_is_one_clear_error(tmp_path: Path) -> None:
    data = script(
        tmp_path,
        """
        import os
        class Dies:
            def __len__(self): return 1000
            def __getitem__(self, row):
                if row == 999: os.kill(os.getpid(), 9)
                return row
        """,
    )
    failed = pack(f"{data}:Dies", "-o", tmp_path / "x.pack", code=1)
    assert "a Python worker ended on its own: signal: 9 (SIGKILL)" in " ".join(
        failed.stderr.split()
    )
    assert not list(tmp_path.glob("x.pack*"))


def test_a_table_is_packed_as_its_columns_are_or_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    feather = pytest.importorskip("pyarrow.feather")
    table = pa.table({"a": [1.5, 2.5], "b": [3.0, 4.0], "c": [5, 6]})
    parquet.write_table(table, tmp_path / "t.parquet")
    feather.write_feather(table, tmp_path / "t.feather", compression="lz4")
    for name in ("t.parquet", "t.feather"):
        pack(
            tmp_path / name,
            "--target",
            2,
            "--target-type",
            "int64",
            "-o",
            tmp_path / "t.pack",
            "--force",
        )
        assert columns(tmp_path / "t.pack") == {"x": [[1.5, 5.0], [2.5, 6.0]], "y": [3, 4]}
    text = pa.table({"text": ["a", "b"], "label": [1.0, 0.0]})
    parquet.write_table(text, tmp_path / "text.parquet")
    pack(tmp_path / "text.parquet", "--target", "label", "--target-type", "int64")
    assert columns(tmp_path / "text.pack") == {"text": [b"a", b"b"], "label": [1, 0]}
    for name, refused, options, words in (
        ("inf", pa.table({"a": [1.0, float("inf")], "b": [1.0, 2.0]}), ["--allow-nan"], "in row 1"),
        ("large", pa.table({"a": [1.0, 1e300], "b": [1.0, 2.0]}), ["--allow-nan"], "in row 1"),
        ("lists", pa.table({"a": [[1.0, None], [2.0]]}), [], "column `a` has missing values"),
        (
            "label",
            pa.table({"a": [1.0, 2.0], "b": [1.0, None]}),
            ["--allow-nan"],
            "`b` has 1 missing values",
        ),
    ):
        parquet.write_table(refused, tmp_path / f"{name}.parquet")
        failed = pack(tmp_path / f"{name}.parquet", *options, code=1)
        assert words in " ".join(failed.stderr.split()), failed.stderr
        assert "Warning" not in failed.stderr
        assert not (tmp_path / f"{name}.pack").exists()


def test_row_groups_without_rows_are_passed_over(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    schema = pa.schema({"t": pa.list_(pa.int64())})
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), schema) as writer:
        for rows in ([], [[], []], [[1, 2]]):
            writer.write_batch(
                pa.record_batch([pa.array(rows, pa.list_(pa.int64()))], schema=schema)
            )
    pack(tmp_path / "t.arrow", "-o", tmp_path / "t.pack")
    assert columns(tmp_path / "t.pack")["t"] == [[], [], [1, 2]]


def test_a_saved_dataset_has_the_files_that_it_lists_and_one_split(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")

    def shard(path: Path, rows: list[int]) -> None:
        path.parent.mkdir(exist_ok=True)
        table = pa.table({"a": [float(row) for row in rows], "b": rows})
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table)

    saved = tmp_path / "saved"
    for number, rows in enumerate(([0, 1], [2, 3])):
        shard(saved / f"data-0000{number}-of-00002.arrow", rows)
    shard(saved / "cache-1f2e3d.arrow", [0, 1])
    files = [{"filename": f"data-0000{number}-of-00002.arrow"} for number in (0, 1)]
    (saved / "state.json").write_text(json.dumps({"_data_files": files}))
    (saved / "dataset_info.json").write_text("{}")
    pack(saved)
    assert columns(tmp_path / "saved.pack")["y"] == [0.0, 1.0, 2.0, 3.0]
    cache = tmp_path / "cache"
    for split in ("train", "test"):
        shard(cache / f"glue-{split}.arrow", [0, 1])
    (cache / "dataset_info.json").write_text("{}")
    assert "it has several splits" in pack(cache, code=1).stderr
    (tmp_path / "splits").mkdir()
    (tmp_path / "splits" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert "it has several splits" in pack(tmp_path / "splits", code=1).stderr
