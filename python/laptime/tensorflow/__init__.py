"""TensorFlow without a line of code: loops over `tf.data` with a `GradientTape`, eager or compiled.

Attached by the start-up hook when TensorFlow is imported. What Keras does inside `fit` is `laptime.keras`'.
Inside a `tf.function` nothing can be timed: a call of it is one stage, named like the function. What it is
for, training or evaluation, is seen while TensorFlow traces it.
"""

from __future__ import annotations

import tensorflow as tf

from .. import _frameworks, _guard, _own_passes, _training
from . import checkpoint, data, facts, functions, strategies, tape


def attach() -> None:
    """Attaches every hook once; the run says what cannot attach."""
    _guard.attach_once(
        "tensorflow",
        ("tensorflow", _register),
        ("tf.data", data.attach),
        ("GradientTape", tape.attach),
        ("tf.function", functions.attach),
        ("tf.Variable", functions.attach_variables),
        ("tf.train.Checkpoint", checkpoint.attach),
        ("tf.distribute", strategies.attach),
        ("laptime.Loader", _own_passes.attach),
        *_frameworks.changes_if_asked(__name__),
    )


def _register() -> None:
    _frameworks.register("tensorflow", data=(tf.data.Dataset, facts.dataset_facts))
    _training.end_with_script()
