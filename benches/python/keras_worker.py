"""One training process of `keras_fit.py`: fits an epoch whenever it is told to.

python keras_worker.py PORT NAME STEPS [tensorboard | profiler]
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import tempfile
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

ROWS = 64
WIDTH = 512


def model_and_data(steps: int) -> tuple[Any, Any]:
    """A regression whose steps take about a millisecond, on batches that are there already."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input((WIDTH,)),
            keras.layers.Dense(WIDTH, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer=keras.optimizers.SGD(1e-6), loss="mse")
    batch = np.random.rand(ROWS, WIDTH).astype("float32"), np.random.rand(ROWS, 1).astype("float32")
    return model, tf.data.Dataset.from_tensors(batch).repeat(steps)


def callbacks_of(kind: str | None, folder: str, steps: int) -> list[Any]:
    """Keras' own way to look at a training."""
    if kind == "tensorboard":
        return [keras.callbacks.TensorBoard(folder)]
    if kind == "profiler":
        # Every step of an epoch: what it costs where it is on.
        return [keras.callbacks.TensorBoard(folder, profile_batch=(1, steps))]
    return []


def main() -> None:
    port, name, steps = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    kind = sys.argv[4] if len(sys.argv) > 4 else None
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    model, data = model_and_data(steps)
    with tempfile.TemporaryDirectory() as folder:
        callbacks = callbacks_of(kind, folder, steps)
        model.fit(data, verbose=0, callbacks=callbacks)
        gc.disable()
        with socket.create_connection(("127.0.0.1", port)) as driver, driver.makefile("rw") as told:
            print(name, file=told, flush=True)
            while told.readline():
                gc.collect()
                wall, cpu = time.perf_counter(), time.process_time()
                model.fit(data, verbose=0, callbacks=callbacks)
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                print(wall / steps * 1e6, cpu / steps * 1e6, file=told, flush=True)


if __name__ == "__main__":
    main()
