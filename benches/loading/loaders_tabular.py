"""Rows of ten `float32` features and a target, shuffled, 256 a batch: one function for each loader."""

from __future__ import annotations

import os
import subprocess
import zlib
from pathlib import Path

import formats
import numpy as np
from entry import Entries, Setting
from sets import FEATURES, ROWS, made, read_rows

BATCH = 256
FEW = f"({formats.FEW_ROWS // 1000} k rows)"

# What the machine itself can do, compiled anew when it changes.
GATHER = Path(__file__).with_name("gather.c")

ENTRIES = Entries()


def check(batch) -> str:
    """Whether a batch is what was asked for; an empty text where it is."""
    x, y = (np.asarray(part) for part in batch)
    if x.shape != (BATCH, FEATURES) or y.size != BATCH or x.dtype != np.float32:
        return f"a batch has {x.shape} {x.dtype} and {y.shape}"
    # Uniform from 0 to 1, so that the mean of 2,560 is within 0.05 of the middle.
    return "" if abs(float(x.mean()) - 0.5) < 0.05 else f"the mean of a batch is {x.mean():.3f}"


# As it comes: batches as small as these it makes without other threads.
@ENTRIES.loader(
    "laptime.Loader", "laptime.loader", "torch", serial=True, prepare=lambda s: _pack(s)
)
def laptime(setting: Setting):
    from laptime import Loader

    loader = Loader(_pack(setting), batch_size=BATCH, shuffle=True, seed=0)
    while True:
        yield from loader


def _pack(setting: Setting) -> Path:
    return formats.packed(setting.sets, setting.sets.csv())


@ENTRIES.limit("gather limit in C, 1 thread", serial=True)
def gather_limit(setting: Setting) -> float:
    return _gather(setting, "memory", 1)


@ENTRIES.limit("gather in C without prefetching, 1 thread", serial=True)
def gather_plain(setting: Setting) -> float:
    return _gather(setting, "plain", 1)


@ENTRIES.limit("gather limit in C, from the mapped file, 1 thread", serial=True)
def gather_limit_mapped(setting: Setting) -> float:
    return _gather(setting, "mapped", 1)


@ENTRIES.limit("gather limit in C, all threads")
def gather_limit_threads(setting: Setting) -> float:
    return _gather(setting, "memory", setting.threads)


def _gather(setting: Setting, mode: str, threads: int) -> float:
    version = f"{zlib.crc32(GATHER.read_bytes()):08x}"
    program = made(setting.sets.folder / f"gather-{version}", _compile)
    rows = setting.sets.rows()
    header = rows.stat().st_size - ROWS * (FEATURES + 1) * 4
    numbers = [header, ROWS, FEATURES, BATCH, setting.seconds, threads]
    words = [program, mode, rows, *(str(number) for number in numbers)]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def _compile(path: Path) -> None:
    compiler = os.environ.get("CC", "cc")
    command = [compiler, "-O3", "-march=native", "-pthread", GATHER, "-o", path]
    subprocess.run(command, check=True, capture_output=True)


@ENTRIES.loader("torch DataLoader(TensorDataset), 0 workers", "torch", serial=True)
def torch_0(setting: Setting):
    yield from _torch(setting, 0)


@ENTRIES.loader("torch DataLoader(TensorDataset), workers", "torch")
def torch_workers(setting: Setting):
    yield from _torch(setting, setting.threads)


def _torch(setting: Setting, workers: int):
    from torch.utils.data import DataLoader

    loader = DataLoader(
        _tensors(setting), BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )
    while True:
        yield from loader


def _tensors(setting: Setting):
    import torch
    from torch.utils.data import TensorDataset

    return TensorDataset(*(torch.from_numpy(array) for array in read_rows(setting.sets.rows())))


@ENTRIES.loader("torch DataLoader with a BatchSampler", "torch", serial=True)
def torch_batch_sampler(setting: Setting):
    from torch.utils.data import BatchSampler, DataLoader, RandomSampler

    tensors = _tensors(setting)
    sampler = BatchSampler(RandomSampler(tensors), BATCH, drop_last=False)
    loader = DataLoader(tensors, sampler=sampler, batch_size=None)
    while True:
        yield from loader


@ENTRIES.loader("torch index by hand", "torch", serial=True)
def torch_index(setting: Setting):
    import torch

    x, y = _tensors(setting).tensors
    while True:
        for picked in torch.randperm(len(x)).split(BATCH):
            yield x[picked], y[picked]


@ENTRIES.loader("numpy memmap, from_numpy", "torch", serial=True)
def numpy_memmap(setting: Setting):
    import torch

    rows = np.load(setting.sets.rows(), mmap_mode="r")
    random = np.random.default_rng(0)
    while True:
        order = random.permutation(len(rows))
        for start in range(0, len(rows), BATCH):
            batch = torch.from_numpy(rows[order[start : start + BATCH]])
            yield batch[:, :-1], batch[:, -1]


@ENTRIES.loader("tf.data, from_tensor_slices, full shuffle", "tensorflow")
def tf_data(setting: Setting):
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(setting.threads)
    tf.config.threading.set_intra_op_parallelism_threads(setting.threads)
    options = tf.data.Options()
    options.threading.private_threadpool_size = setting.threads
    rows = tf.data.Dataset.from_tensor_slices(read_rows(setting.sets.rows()))
    rows = rows.shuffle(ROWS).batch(BATCH).prefetch(tf.data.AUTOTUNE).with_options(options)
    while True:
        yield from rows


@ENTRIES.loader(
    "pyarrow take, FixedSizeList",
    "pyarrow",
    serial=True,
    prepare=lambda s: formats.arrow_rows(s.sets),
)
def pyarrow_take(setting: Setting):
    import pyarrow

    file = pyarrow.memory_map(str(formats.arrow_rows(setting.sets)))
    table = pyarrow.ipc.open_file(file).read_all().combine_chunks()
    x, y = (table.column(name).chunk(0) for name in ("x", "y"))
    random = np.random.default_rng(0)
    while True:
        order = random.permutation(len(x))
        for start in range(0, len(x), BATCH):
            picked = pyarrow.array(order[start : start + BATCH])
            features = x.take(picked).flatten().to_numpy().reshape(-1, FEATURES)
            yield features, y.take(picked).to_numpy()


@ENTRIES.loader("SPDL, batches gathered in threads", "spdl.pipeline")
def spdl(setting: Setting):
    from spdl.pipeline import PipelineBuilder

    x, y = read_rows(setting.sets.rows())
    random = np.random.default_rng(0)

    def orders():
        while True:
            order = random.permutation(len(x))
            yield from (order[start : start + BATCH] for start in range(0, len(x), BATCH))

    builder = PipelineBuilder().add_source(orders())
    builder = builder.pipe(lambda picked: (x[picked], y[picked]), concurrency=setting.threads)
    pipeline = builder.add_sink(8).build(num_threads=setting.threads)
    with pipeline.auto_stop():
        yield from pipeline


@ENTRIES.loader("Grain MapDataset, threads", "grain")
def grain(setting: Setting):
    import grain

    class Rows:
        def __init__(self) -> None:
            self.x, self.y = read_rows(setting.sets.rows())

        def __len__(self) -> int:
            return len(self.x)

        def __getitem__(self, index: int):
            return self.x[index], self.y[index]

    rows = grain.MapDataset.source(Rows()).seed(0).shuffle().repeat().batch(BATCH)
    yield from rows.to_iter_dataset(grain.ReadOptions(num_threads=setting.threads))


@ENTRIES.loader(
    "Hugging Face datasets, shuffle().iter()",
    "datasets",
    "torch",
    serial=True,
    prepare=lambda s: formats.hugging_face_rows(s.sets),
)
def hugging_face(setting: Setting):
    import datasets

    rows = datasets.load_from_disk(str(formats.hugging_face_rows(setting.sets))).with_format(
        "torch"
    )
    epoch = 0
    while True:
        for batch in rows.shuffle(seed=epoch, keep_in_memory=True).iter(BATCH):
            yield batch["x"], batch["y"]
        epoch += 1


@ENTRIES.loader(
    f"LitData, 0 workers {FEW}",
    "litdata",
    "torch",
    serial=True,
    prepare=lambda s: formats.litdata_rows(s.sets),
)
def litdata(setting: Setting):
    from litdata import StreamingDataLoader, StreamingDataset

    # Its default decodes neighbours of each row too, which are of no use in a shuffled order: ten times slower.
    rows = StreamingDataset(str(formats.litdata_rows(setting.sets)), shuffle=True, batch_decode=0)
    loader = StreamingDataLoader(rows, batch_size=BATCH)
    while True:
        yield from loader


@ENTRIES.loader(
    f"MosaicML Streaming, 0 workers {FEW}",
    "streaming",
    "torch",
    serial=True,
    prepare=lambda s: formats.mosaic_rows(s.sets),
)
def mosaic(setting: Setting):
    from streaming import StreamingDataset
    from torch.utils.data import DataLoader

    folder = str(formats.mosaic_rows(setting.sets))
    loader = DataLoader(StreamingDataset(local=folder, shuffle=True, batch_size=BATCH), BATCH)
    while True:
        for batch in loader:
            yield batch["x"], batch["y"]


@ENTRIES.loader(
    f"WebDataset, 0 workers {FEW}",
    "webdataset",
    "torch",
    serial=True,
    prepare=lambda s: formats.webdataset_rows(s.sets),
)
def webdataset(setting: Setting):
    import torch
    import webdataset

    def collated(samples):
        rows = torch.from_numpy(
            np.stack([np.frombuffer(sample["bin"], np.float32) for sample in samples])
        )
        return rows[:, :-1], rows[:, -1]

    shards = sorted(str(file) for file in formats.webdataset_rows(setting.sets).glob("*.tar"))
    rows = webdataset.WebDataset(shards, shardshuffle=len(shards), empty_check=False).shuffle(
        10_000
    )
    while True:
        yield from rows.batched(BATCH, collation_fn=collated, partial=False)
