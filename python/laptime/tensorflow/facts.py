"""Facts: what TensorFlow's datasets say of a fit, and what is known of one that has no optimizer."""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf

from .. import _guard

# Transformations that are named of a dataset; of more, the rest is where its data comes from.
_MOST_TRANSFORMATIONS = 32


def dataset_facts(dataset: Any) -> dict[str, Any]:
    """What a dataset says of a fit; its rows are counted in the first epoch."""
    batches = int(dataset.cardinality())
    steps = {"steps_per_epoch": batches} if batches >= 0 else {}
    return steps | (pipeline_facts(dataset) or {})


@_guard.safely
def pipeline_facts(dataset: Any) -> dict[str, Any]:
    """What a dataset is made of, from its source on: `tensor_slice map batch`."""
    names: list[str] = []
    while dataset is not None and len(names) < _MOST_TRANSFORMATIONS:
        # Such as `_ParallelMapDataset`.
        plain = type(dataset).__name__.strip("_").removesuffix("Dataset")
        names.append(re.sub(r"(?<!^)(?=[A-Z])", "_", plain).lower())
        before = dataset._inputs()
        dataset = before[0] if len(before) == 1 else None
    return {"tensorflow.data": " ".join(reversed(names))}


def own_facts() -> dict[str, Any]:
    """What is known of a fit that has no optimizer."""
    device = "gpu:0" if tf.config.list_logical_devices("GPU") else "cpu"
    return {"framework_version": tf.__version__, "device": device}
