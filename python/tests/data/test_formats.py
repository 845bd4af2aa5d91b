"""Files as other programs write them: `laptime data` finds the samples that were put in."""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

from .conftest import Ask

ROWS = 1_000


def test_records_of_tensorflow_are_counted(tmp_path: Path, ask: Ask) -> None:
    tf = pytest.importorskip("tensorflow")
    with tf.io.TFRecordWriter(str(tmp_path / "train.tfrecord-00000-of-00001")) as writer:
        for row in range(ROWS):
            feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[row] * (row % 50)))
            features = tf.train.Features(feature={"x": feature})
            writer.write(tf.train.Example(features=features).SerializeToString())
    document = ask(tmp_path)
    assert document["format"] == "tfrecord"
    assert (document["samples"]["mean"], document["samples"]["exact"]) == (ROWS, True)


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_samples_of_a_tar_shard_are_counted_and_nothing_is_unpacked(
    tmp_path: Path, ask: Ask, kind: int
) -> None:
    # Two files a sample; where the format has room for them, with names longer than a header's.
    folder = "a-long-name/" * (1 if kind == tarfile.USTAR_FORMAT else 20)
    with tarfile.open(tmp_path / "train-000.tar", "w", format=kind) as shard:
        for row in range(ROWS):
            for name in (f"../{folder}{row}.jpg", f"../{folder}{row}.cls"):
                member = tarfile.TarInfo(name)
                member.size = row % 700
                shard.addfile(member, io.BytesIO(bytes(member.size)))
    document = ask(tmp_path)
    assert (document["format"], document["samples"]["mean"]) == ("tar", ROWS)
    assert document["samples"]["exact"]
    assert [path.name for path in tmp_path.iterdir()] == ["train-000.tar"]


def test_packed_text_is_counted(tmp_path: Path, ask: Ask) -> None:
    text = "x,y\n" + "".join(f"{row},{row / 7:.4f}\n" for row in range(ROWS))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "b.csv").write_text(text)
    try:
        subprocess.run(["zstd", "-q", "--rm", "-19", str(tmp_path / "b.csv")], check=True)
    except FileNotFoundError:
        pytest.skip("the program zstd is not installed")
    parts = ask(tmp_path)["parts"]
    found = {
        part["compression"]: (part["samples"]["mean"], part["samples"]["exact"]) for part in parts
    }
    assert found == {"gzip": (ROWS, True), "zstd": (ROWS, True)}


def test_features_beside_labels_are_one_dataset(tmp_path: Path, ask: Ask) -> None:
    np.save(tmp_path / "x.npy", np.zeros((ROWS, 28), np.float32))
    np.save(tmp_path / "y.npy", np.zeros(ROWS, np.int64))
    document = ask(tmp_path)
    assert (document["samples"]["mean"], document["samples"]["exact"]) == (ROWS, True)
    assert document["epoch_bytes"]["host_to_device"]["mean"] == ROWS * 29 * 4
