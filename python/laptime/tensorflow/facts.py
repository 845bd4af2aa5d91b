"""Facts: what TensorFlow's datasets say of a fit, and what is known of one that has no optimizer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def dataset_facts(dataset: Any) -> dict[str, Any]:
    """What a dataset says of a fit; its rows are counted in the first epoch."""
    batches = int(dataset.cardinality())
    return {"steps_per_epoch": batches} if batches >= 0 else {}


def own_facts() -> dict[str, Any]:
    """What is known of a fit that has no optimizer."""
    device = "gpu:0" if tf.config.list_logical_devices("GPU") else "cpu"
    return {"framework_version": tf.__version__, "device": device}
