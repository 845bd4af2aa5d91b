"""TensorFlow without a line of code: loops over `tf.data` with a `GradientTape`, eager or compiled.

Attached by the start-up hook when TensorFlow is imported. What Keras does inside `fit` is `laptime.keras`'.
Inside a `tf.function` nothing can be timed: a call of it is one stage, named like the function. What it is
for, training or evaluation, is seen while TensorFlow traces it.
"""

from __future__ import annotations

import tensorflow as tf

from .. import _frameworks, _guard, _training
from . import checkpoint, data, facts, functions, tape

_attached = False


def attach() -> None:
    """Attaches every hook once; the run says what cannot attach."""
    global _attached
    if _attached:
        return
    _attached = True
    _frameworks.register("tensorflow", data=(tf.data.Dataset, facts.dataset_facts))
    _guard.attach("tf.data", data.attach)
    _guard.attach("GradientTape", tape.attach)
    _guard.attach("tf.function", functions.attach)
    _guard.attach("tf.Variable", functions.attach_variables)
    _guard.attach("tf.train.Checkpoint", checkpoint.attach)
    _training.end_with_script()
