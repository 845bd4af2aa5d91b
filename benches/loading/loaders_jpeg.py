"""JPEG files, decoded, randomly cropped and resized, flipped and normalised, 64 a batch: one function for each loader.

Peers that leave the decoding to the user get the fastest of Python's, `simplejpeg` with OpenCV's resizing, unless the
name says otherwise.
"""

from __future__ import annotations

import random
from pathlib import Path

import crops
import formats
import numpy as np
from entry import Entries, Setting
from sets import SIDE, image_files

BATCH = 64

ENTRIES = Entries()


def check(batch) -> str:
    """Whether a batch is what was asked for; an empty text where it is."""
    x, y = (np.asarray(part) for part in batch)
    if x.shape != (BATCH, 3, SIDE, SIDE) or y.size != BATCH or x.dtype != np.float32:
        return f"a batch has {x.shape} {x.dtype} and {y.shape}"
    # Colours of all kinds, so that normalised pixels have about this mean and deviation.
    fits = abs(float(x.mean()) - 0.2) < 0.4 and 0.6 < float(x.std()) < 1.6
    return "" if fits else f"the pixels of a batch are {x.mean():.2f} ± {x.std():.2f}"


@ENTRIES.loader(
    "laptime.Loader, decoder built in", "laptime.loader", "torch", prepare=lambda s: _pack(s)
)
def laptime_built_in(setting: Setting):
    yield from _laptime(setting, _pack(setting), "built_in")


@ENTRIES.loader(
    "laptime.Loader, libturbojpeg", "laptime.loader", "torch", prepare=lambda s: _pack(s)
)
def laptime_turbo(setting: Setting):
    yield from _laptime(setting, _pack(setting), "turbo")


@ENTRIES.loader(
    "laptime.Loader, decoded pack",
    "laptime.loader",
    "torch",
    prepare=lambda s: _pack(s, "--decode"),
)
def laptime_decoded(setting: Setting):
    yield from _laptime(setting, _pack(setting, "--decode"), "auto")


def _pack(setting: Setting, *options: str) -> Path:
    sized = ("--size", str(SIDE)) if options else ()
    return formats.packed(setting.sets, setting.sets.jpegs(), *options, *sized)


def _laptime(setting: Setting, pack: Path, decoder: str):
    from dataclasses import replace

    from laptime import Loader
    from laptime.image import random_crop_flip

    loader = Loader(
        pack,
        batch_size=BATCH,
        shuffle=True,
        seed=0,
        threads=setting.threads,
        transform=replace(random_crop_flip(SIDE), decoder=decoder),
        normalize=(crops.MEAN, crops.STD),
    )
    while True:
        yield from loader


class Files:
    """A map-style dataset of the files, each loaded by `load` from its path."""

    def __init__(self, setting: Setting, load) -> None:
        self.files, self.labels = image_files(setting.sets.jpegs())
        self.load = load

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int):
        return self.load(self.files[index]), self.labels[index]


def _torch(setting: Setting, load):
    from torch.utils.data import DataLoader

    loader = DataLoader(
        Files(setting, load),
        BATCH,
        shuffle=True,
        drop_last=True,
        num_workers=setting.threads,
        persistent_workers=True,
        worker_init_fn=one_thread,
    )
    while True:
        yield from loader


def one_thread(_worker: int) -> None:
    """OpenCV with no threads of its own in a worker: there are as many workers as there may be threads."""
    from importlib.util import find_spec

    if find_spec("cv2"):
        import cv2

        cv2.setNumThreads(0)


def simplejpeg_file(path: str) -> np.ndarray:
    return crops.with_simplejpeg(Path(path).read_bytes())


def cv2_file(path: str) -> np.ndarray:
    return crops.with_cv2(Path(path).read_bytes())


@ENTRIES.loader("torch + Pillow, workers", "torch", "PIL")
def torch_pil(setting: Setting):
    yield from _torch(setting, crops.with_pil)


@ENTRIES.loader("torch + torchvision.io + v2, workers", "torch", "torchvision")
def torchvision_io(setting: Setting):
    from torchvision.io import decode_jpeg, read_file

    transform = _v2()
    yield from _torch(setting, lambda path: transform(decode_jpeg(read_file(path))))


@ENTRIES.loader("torch + torchcodec + v2, workers", "torch", "torchvision", "torchcodec")
def torchcodec(setting: Setting):
    from torchcodec.decoders import decode_jpeg
    from torchvision.io import read_file

    transform = _v2()
    yield from _torch(setting, lambda path: transform(decode_jpeg(read_file(path))))


def _v2():
    import torch
    from torchvision.transforms import v2

    return v2.Compose(
        [
            v2.RandomResizedCrop(SIDE, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(crops.MEAN, crops.STD, inplace=True),
        ]
    )


@ENTRIES.loader("torch + OpenCV, workers", "torch", "cv2")
def torch_cv2(setting: Setting):
    yield from _torch(setting, cv2_file)


@ENTRIES.loader("torch + simplejpeg + OpenCV, workers", "torch", "simplejpeg", "cv2")
def torch_simplejpeg(setting: Setting):
    yield from _torch(setting, simplejpeg_file)


@ENTRIES.loader("DALI on the CPU, its own arrays", "nvidia.dali")
def dali(setting: Setting):
    pipeline = _dali_pipeline(setting)
    while True:
        yield tuple(np.asarray(part.as_tensor()) for part in pipeline.run())


@ENTRIES.loader("DALI on the CPU, as torch tensors", "nvidia.dali", "torch")
def dali_torch(setting: Setting):
    from nvidia.dali.plugin.pytorch import DALIGenericIterator

    for (batch,) in DALIGenericIterator(_dali_pipeline(setting), ["x", "y"]):
        yield batch["x"], batch["y"]


def _dali_pipeline(setting: Setting):
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=BATCH, num_threads=setting.threads, device_id=None)
    def images():
        jpegs, labels = fn.readers.file(file_root=str(setting.sets.jpegs()), random_shuffle=True)
        area, ratio = list(crops.AREA), list(crops.RATIO)
        pixels = fn.decoders.image_random_crop(jpegs, random_area=area, random_aspect_ratio=ratio)
        pixels = fn.resize(pixels, resize_x=SIDE, resize_y=SIDE, interp_type=types.INTERP_LINEAR)
        mirror = fn.random.coin_flip()
        mean, std = ([255 * part for part in parts] for parts in (crops.MEAN, crops.STD))
        x = fn.crop_mirror_normalize(pixels, mirror=mirror, mean=mean, std=std, output_layout="CHW")
        return x, labels

    pipeline = images()
    pipeline.build()
    return pipeline


@ENTRIES.loader("tf.data, decode_and_crop_jpeg", "tensorflow")
def tf_data(setting: Setting):
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(setting.threads)
    tf.config.threading.set_intra_op_parallelism_threads(setting.threads)
    options = tf.data.Options()
    options.threading.private_threadpool_size = setting.threads
    options.deterministic = False
    files, labels = image_files(setting.sets.jpegs())
    images = tf.data.Dataset.from_tensor_slices((files, labels)).shuffle(len(files))
    images = images.map(_tf_image, num_parallel_calls=setting.threads)
    images = images.batch(BATCH, drop_remainder=True).prefetch(2).with_options(options)
    while True:
        yield from images


def _tf_image(path, label):
    import tensorflow as tf

    jpeg = tf.io.read_file(path)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(jpeg),
        tf.zeros((1, 0, 4)),
        area_range=crops.AREA,
        aspect_ratio_range=crops.RATIO,
        use_image_if_no_bounding_boxes=True,
    )
    window = tf.concat([begin[:2], size[:2]], 0)
    pixels = tf.image.resize(tf.image.decode_and_crop_jpeg(jpeg, window, channels=3), (SIDE, SIDE))
    pixels = tf.image.random_flip_left_right(pixels)
    mean, std = (255 * tf.constant(parts) for parts in (crops.MEAN, crops.STD))
    return tf.transpose((pixels - mean) / std, (2, 0, 1)), label


@ENTRIES.loader("SPDL, threads", "spdl.pipeline", "simplejpeg", "cv2")
def spdl(setting: Setting):
    from spdl.pipeline import PipelineBuilder

    one_thread(0)
    images = Files(setting, simplejpeg_file)

    def indices():
        while True:
            yield from np.random.permutation(len(images))

    builder = (
        PipelineBuilder()
        .add_source(indices())
        .pipe(images.__getitem__, concurrency=setting.threads)
    )
    builder = builder.aggregate(BATCH).pipe(_stacked, concurrency=1)
    # One thread more for putting batches together, beside those that decode.
    pipeline = builder.add_sink(2).build(num_threads=setting.threads + 1)
    with pipeline.auto_stop():
        yield from pipeline


def _stacked(samples):
    images, labels = zip(*samples)
    return np.stack(images), np.asarray(labels)


@ENTRIES.loader("FFCV", "ffcv")
def ffcv(setting: Setting):
    raise SystemExit(
        "FFCV is installed, but this bench has never been run with it and has no entry for it"
    )


@ENTRIES.loader(
    "WebDataset, workers",
    "webdataset",
    "torch",
    "simplejpeg",
    "cv2",
    prepare=lambda s: formats.webdataset_images(s.sets),
)
def webdataset(setting: Setting):
    import webdataset

    shards = sorted(str(file) for file in formats.webdataset_images(setting.sets).glob("*.tar"))
    images = webdataset.WebDataset(shards, shardshuffle=len(shards)).shuffle(1000)
    images = images.to_tuple("jpg", "cls").map_tuple(crops.with_simplejpeg, int)
    loader = webdataset.WebLoader(
        images.batched(BATCH, partial=False),
        batch_size=None,
        num_workers=setting.threads,
        persistent_workers=True,
        worker_init_fn=one_thread,
    )
    while True:
        yield from loader


@ENTRIES.loader(
    "MosaicML Streaming, workers",
    "streaming",
    "torch",
    "simplejpeg",
    "cv2",
    prepare=lambda s: formats.mosaic_images(s.sets),
)
def mosaic(setting: Setting):
    from streaming import StreamingDataset
    from torch.utils.data import DataLoader

    class Images(StreamingDataset):
        def __getitem__(self, index):
            sample = super().__getitem__(index)
            return crops.with_simplejpeg(sample["jpeg"]), sample["label"]

    images = Images(local=str(formats.mosaic_images(setting.sets)), shuffle=True, batch_size=BATCH)
    loader = DataLoader(
        images, BATCH, num_workers=setting.threads, drop_last=True, worker_init_fn=one_thread
    )
    while True:
        yield from loader


@ENTRIES.loader(
    "LitData, workers",
    "litdata",
    "torch",
    "simplejpeg",
    "cv2",
    prepare=lambda s: formats.litdata_images(s.sets),
)
def litdata(setting: Setting):
    from litdata import StreamingDataLoader, StreamingDataset

    class Images(StreamingDataset):
        def __getitem__(self, index):
            jpeg, label = super().__getitem__(index)
            return crops.with_simplejpeg(jpeg), label

    images = Images(str(formats.litdata_images(setting.sets)), shuffle=True, drop_last=True)
    loader = StreamingDataLoader(
        images,
        batch_size=BATCH,
        num_workers=setting.threads,
        drop_last=True,
        persistent_workers=True,
        worker_init_fn=one_thread,
    )
    while True:
        yield from loader


@ENTRIES.loader("Grain, threads", "grain", "simplejpeg", "cv2")
def grain(setting: Setting):
    import grain

    one_thread(0)
    images = grain.MapDataset.source(Files(setting, simplejpeg_file)).seed(0).shuffle().repeat()
    yield from images.batch(BATCH).to_iter_dataset(grain.ReadOptions(num_threads=setting.threads))


@ENTRIES.loader("Ray Data, workers", "ray.data", "simplejpeg", "cv2")
def ray_data(setting: Setting):
    import ray

    ray.init(
        num_cpus=setting.threads,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    samples = list(zip(*image_files(setting.sets.jpegs())))
    here = str(Path(__file__).parent)
    try:
        while True:
            random.shuffle(samples)
            paths = ray.data.from_items([{"path": path, "label": label} for path, label in samples])
            images = paths.map_batches(_ray_images(here), batch_size=BATCH)
            for batch in images.iter_batches(batch_size=BATCH, drop_last=True):
                yield batch["x"], batch["label"]
    finally:
        ray.shutdown()


def _ray_images(here: str):
    """The function for Ray's workers, which do not find this folder by themselves."""

    def images(batch):
        import sys

        if here not in sys.path:
            sys.path.insert(0, here)
        from loaders_jpeg import one_thread, simplejpeg_file

        one_thread(0)
        return {
            "x": np.stack([simplejpeg_file(path) for path in batch["path"]]),
            "label": batch["label"],
        }

    return images
