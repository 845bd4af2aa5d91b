"""A pack opens in other programs as it is."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas
import polars
from pyarrow import ipc

from .conftest import ROWS


def test_a_part_of_a_pack_opens_in_pandas_polars_pyarrow_and_duckdb(table: Path) -> None:
    part = table / "part-00000.arrow"
    rows = np.arange(ROWS, dtype=np.float32)
    x = np.stack([rows, -rows, np.full_like(rows, 0.5)], axis=1)
    frame = pandas.read_feather(part)
    assert np.array_equal(np.stack(frame["x"].to_list()), x)
    assert frame["y"].tolist() == list(range(ROWS))
    lazy = polars.read_ipc(part)
    assert lazy.schema["x"] == polars.Array(polars.Float32, 3)
    assert np.array_equal(lazy["x"].to_numpy(), x) and lazy["y"].to_list() == list(range(ROWS))
    arrow = ipc.open_file(part).read_all()
    assert arrow["y"].to_pylist() == list(range(ROWS))
    found = duckdb.sql("select sum(y), count(*), max(x[1]) from arrow").fetchall()
    assert found == [(ROWS * (ROWS - 1) // 2, ROWS, ROWS - 1)]
