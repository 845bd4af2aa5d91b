"""The sets in the formats that the peers read, and as packs of laptime: each written once, beside and renamed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from sets import FEATURES, SIDE, Sets, image_files, made, read_rows

# Peers that keep each row as a file of its own kind take minutes for all rows; their rate does not depend on how many.
FEW_ROWS = 200_000

# As many megabytes in a shard of the peers as they advise.
SHARD_BYTES = 64 << 20


def packed(sets: Sets, source: Path, *options: str) -> Path:
    """`source` as a pack of laptime's, by its command."""
    suffix = "".join(option.strip("-") + "-" for option in options if option.startswith("--"))
    target = sets.folder / "packs" / f"{suffix}{source.stem}.pack"
    return made(target, lambda path: pack(source, path, *options))


def pack(source: Path, target: Path, *options: str) -> None:
    """`laptime pack`, with the laptime of this Python."""
    command = [
        sys.executable,
        "-m",
        "laptime",
        "pack",
        str(source),
        "-o",
        str(target),
        "--quiet",
        *options,
    ]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode != 0:
        raise SystemExit(f"laptime pack {source}: {ended.stderr.strip() or ended.stdout.strip()}")


def arrow_rows(sets: Sets) -> Path:
    """Arrow IPC with the features as a list of fixed size."""

    def write(path: Path) -> None:
        import pyarrow

        x, y = read_rows(sets.rows())
        features = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(x.reshape(-1)), FEATURES)
        table = pyarrow.table([features, pyarrow.array(y)], names=["x", "y"])
        with (
            pyarrow.OSFile(str(path), "wb") as file,
            pyarrow.ipc.new_file(file, table.schema) as writer,
        ):
            writer.write_table(table)

    return made(sets.folder / "formats" / "rows.arrow", write)


def hugging_face_rows(sets: Sets) -> Path:
    """What `datasets` saves of the same Arrow table."""

    def write(path: Path) -> None:
        import datasets
        import pyarrow

        with pyarrow.memory_map(str(arrow_rows(sets))) as file:
            table = pyarrow.ipc.open_file(file).read_all()
            datasets.Dataset(datasets.table.InMemoryTable(table)).save_to_disk(str(path))

    return made(sets.folder / "formats" / "rows.hf", write)


def litdata_rows(sets: Sets) -> Path:
    """Chunks of LitData's."""

    def write(path: Path) -> None:
        import torch

        x, y = (torch.from_numpy(array[:FEW_ROWS]) for array in read_rows(sets.rows()))
        _write_litdata(path, ((x[index], y[index]) for index in range(FEW_ROWS)))

    return made(sets.folder / "formats" / "rows.litdata", write)


def mosaic_rows(sets: Sets) -> Path:
    """Shards of MosaicML Streaming."""

    def write(path: Path) -> None:
        x, y = (array[:FEW_ROWS] for array in read_rows(sets.rows()))
        columns = {"x": f"ndarray:float32:{FEATURES}", "y": "float32"}
        _write_mosaic(path, columns, ({"x": x[index], "y": y[index]} for index in range(FEW_ROWS)))

    return made(sets.folder / "formats" / "rows.mds", write)


def webdataset_rows(sets: Sets) -> Path:
    """One tar of rows as bytes."""

    def write(path: Path) -> None:
        rows = np.load(sets.rows())[:FEW_ROWS]
        _write_webdataset(path, ({"bin": row.tobytes()} for row in rows))

    return made(sets.folder / "formats" / "rows.wds", write)


def litdata_images(sets: Sets) -> Path:
    """Chunks of LitData's with the JPEG files' bytes."""
    return made(
        sets.folder / "formats" / "jpegs.litdata", lambda path: _write_litdata(path, _encoded(sets))
    )


def mosaic_images(sets: Sets) -> Path:
    """Shards of MosaicML Streaming with the JPEG files' bytes."""

    def write(path: Path) -> None:
        samples = ({"jpeg": jpeg, "label": label} for jpeg, label in _encoded(sets))
        _write_mosaic(path, {"jpeg": "bytes", "label": "int"}, samples)

    return made(sets.folder / "formats" / "jpegs.mds", write)


def webdataset_images(sets: Sets) -> Path:
    """Tars of the JPEG files."""

    def write(path: Path) -> None:
        _write_webdataset(path, ({"jpg": jpeg, "cls": label} for jpeg, label in _encoded(sets)))

    return made(sets.folder / "formats" / "jpegs.wds", write)


def decoded_images(sets: Sets, times: int) -> Path:
    """All pixels of the JPEG files, each `times`, in one `.npy` of bytes."""

    def write(path: Path) -> None:
        from PIL import Image

        files, _ = image_files(sets.jpegs())
        shape = (times * len(files), SIDE, SIDE, 3)
        pixels = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)
        for index, file in enumerate(files):
            pixels[index * times : (index + 1) * times] = np.asarray(Image.open(file))
        pixels.flush()

    return made(sets.folder / "formats" / f"pixels-{times}.npy", write)


def _encoded(sets: Sets):
    for file, label in zip(*image_files(sets.jpegs())):
        yield Path(file).read_bytes(), label


def _write_litdata(folder: Path, samples) -> None:
    from litdata.streaming.cache import Cache

    folder.mkdir(parents=True)
    cache = Cache(str(folder), chunk_bytes=SHARD_BYTES)
    for index, sample in enumerate(samples):
        cache[index] = sample
    cache.done()
    cache.merge()


def _write_mosaic(folder: Path, columns: dict[str, str], samples) -> None:
    from streaming import MDSWriter

    with MDSWriter(out=str(folder), columns=columns, size_limit=SHARD_BYTES) as writer:
        for sample in samples:
            writer.write(sample)


def _write_webdataset(folder: Path, samples) -> None:
    import webdataset

    folder.mkdir(parents=True)
    # As many shards as four workers can share.
    with_shards = [webdataset.TarWriter(str(folder / f"{shard:04}.tar")) for shard in range(4)]
    for index, sample in enumerate(samples):
        with_shards[index % 4].write({"__key__": f"{index:07}", **sample})
    for writer in with_shards:
        writer.close()
