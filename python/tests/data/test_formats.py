"""Files that the libraries people use have written: rows are exact, and sizes those the library tells."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from .conftest import Ask

pyarrow = pytest.importorskip("pyarrow")
import pyarrow.feather  # noqa: E402
import pyarrow.ipc  # noqa: E402
import pyarrow.parquet  # noqa: E402

ROWS = 12_345


def table() -> pyarrow.Table:
    numbers = numpy.random.default_rng(3)
    return pyarrow.table(
        {
            "id": numpy.arange(ROWS),
            "weight": numbers.normal(size=ROWS).astype("float32"),
            "kind": pyarrow.array(numbers.integers(0, 5, ROWS))
            .cast(pyarrow.string())
            .dictionary_encode(),
            "text": [f"row number {row}" for row in range(ROWS)],
            "present": [None if row % 3 else row for row in range(ROWS)],
            "vector": pyarrow.FixedSizeListArray.from_arrays(
                numbers.normal(size=ROWS * 8).astype("float32"), 8
            ),
            "nested": [{"a": float(row), "b": [row, row + 1]} for row in range(ROWS)],
        }
    )


def assert_rows(document: dict, rows: int = ROWS) -> None:
    assert document["samples"] == {
        "mean": rows,
        "low": rows,
        "high": rows,
        "level": 0.95,
        "exact": True,
    }
    assert document["trouble_count"] == 0, document["troubles"]


# Numbers in a row: id, weight, present, vector, a and b; kind and text are texts.
NUMBERS = 1 + 1 + 1 + 8 + 1 + 2


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip"])
@pytest.mark.parametrize("group", [1_000, 10**6])
def test_parquet_is_exact(tmp_path: Path, ask: Ask, compression: str, group: int) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(table(), path, compression=compression, row_group_size=group)
    document = ask(path)
    assert_rows(document)
    assert document["epoch_bytes"]["host_to_device"]["mean"] == ROWS * NUMBERS * 4
    assert document["bytes"] == path.stat().st_size


def test_parquet_in_a_folder_adds_up(tmp_path: Path, ask: Ask) -> None:
    for shard in range(3):
        pyarrow.parquet.write_table(table(), tmp_path / f"{shard}.parquet")
    assert_rows(ask(tmp_path), 3 * ROWS)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather_is_exact(tmp_path: Path, ask: Ask, compression: str) -> None:
    path = tmp_path / "a.feather"
    pyarrow.feather.write_feather(table(), path, compression=compression, chunksize=1_000)
    document = ask(path)
    assert_rows(document)
    assert document["epoch_bytes"]["host_to_device"]["mean"] == ROWS * NUMBERS * 4
    # What it takes in memory: the library counts the same, but for padding of its buffers and of slices.
    decoded = pyarrow.feather.read_table(path, memory_map=False).nbytes
    assert document["decoded_bytes"]["mean"] == pytest.approx(decoded, rel=0.02)


def test_an_arrow_stream_is_exact(tmp_path: Path, ask: Ask) -> None:
    path = tmp_path / "a.arrow"
    whole = table().unify_dictionaries()
    with pyarrow.ipc.new_stream(path, whole.schema) as stream:
        stream.write_table(whole, max_chunksize=500)
    assert_rows(ask(path))


@pytest.mark.parametrize("kind", ["float16", "float32", "uint8", "int64", "bool", "complex64"])
def test_npy_is_exact(tmp_path: Path, ask: Ask, kind: str) -> None:
    array = numpy.zeros((321, 7, 5), kind)
    numpy.save(tmp_path / "a.npy", array)
    document = ask(tmp_path / "a.npy", "--dtype", "uint8")
    assert_rows(document, 321)
    assert document["decoded_bytes"]["mean"] == array.nbytes
    assert document["epoch_bytes"]["host_to_device"]["mean"] == array.size


@pytest.mark.parametrize("save", [numpy.savez, numpy.savez_compressed])
def test_npz_is_exact(tmp_path: Path, ask: Ask, save) -> None:
    x, y = numpy.random.default_rng(0).normal(size=(500, 33)), numpy.arange(500)
    save(tmp_path / "a.npz", x=x, y=y)
    document = ask(tmp_path / "a.npz")
    assert_rows(document, 500)
    assert document["decoded_bytes"]["mean"] == x.nbytes + y.nbytes


def test_images_are_measured_by_their_headers(tmp_path: Path, ask: Ask) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = numpy.random.default_rng(0)
    decoded = 0
    for index in range(40):
        mode, channels = [("RGB", 3), ("L", 1), ("RGBA", 4)][index % 3]
        ending = "png" if mode == "RGBA" or index % 2 else "jpg"
        height, width = 20 + index, 30
        shape = (height, width) if channels == 1 else (height, width, channels)
        made = image.fromarray(pixels.integers(0, 255, shape, dtype="uint8"), mode)
        (tmp_path / str(index % 4)).mkdir(exist_ok=True)
        made.save(
            tmp_path / str(index % 4) / f"{index}.{ending}",
            **({"progressive": True} if index % 4 == 0 else {}),
        )
        decoded += height * width * channels
    document = ask(tmp_path)
    assert_rows(document, 40)
    assert document["decoded_bytes"]["mean"] == decoded
    assert document["format"] == "images"


def test_csv_written_by_pandas_with_newlines_in_its_texts(tmp_path: Path, ask: Ask) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"text": [f'a "quoted"\nword, {row}' for row in range(5_000)], "x": 1.5, "y": 2}
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "b.tsv", index=False, sep="\t")
    frame.to_json(tmp_path / "c.jsonl", orient="records", lines=True)
    for name in ("a.csv", "b.tsv", "c.jsonl"):
        assert_rows(ask(tmp_path / name), 5_000)
    assert ask(tmp_path / "a.csv")["epoch_bytes"]["host_to_device"]["mean"] == 5_000 * 2 * 4
