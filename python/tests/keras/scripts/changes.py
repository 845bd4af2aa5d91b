"""A `fit` that says how it is done, as its first word wants it: what `LAPTIME_CHANGES` changes shows in it."""

import gc
import sys

import keras
import numpy
import tensorflow as tf

KIND = sys.argv[1] if len(sys.argv) > 1 else "pipeline"
keras.utils.set_random_seed(3)
ROWS = numpy.random.rand(48, 8).astype("float32")
SUMS = ROWS.sum(1, keepdims=True)


class Rows(keras.utils.PyDataset):
    def __len__(self):
        return 6

    def __getitem__(self, at):
        print("get", at) if self.workers == 1 else None
        return ROWS[at * 8 : at * 8 + 8], SUMS[at * 8 : at * 8 + 8]


class Python(keras.layers.Layer):
    """What XLA cannot compile."""

    def call(self, rows):
        same = tf.py_function(lambda rows: rows, [rows], rows.dtype)
        same.set_shape(rows.shape)
        return tf.stop_gradient(same)


class EveryBatch(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        print("batch", batch)


def pipeline():
    data = tf.data.Dataset.from_tensor_slices((ROWS, SUMS))
    scale = tf.random.uniform if KIND == "random" else tf.ones
    data = data.map(lambda row, label: (row * scale([]), label))
    return data.shuffle(48).batch(8)


def data():
    if KIND == "arrays":
        return {"x": ROWS, "y": SUMS, "batch_size": 8, "callbacks": [EveryBatch()]}
    return (
        {"x": Rows(), "shuffle": False} if KIND == "rows" else {"x": pipeline(), "shuffle": False}
    )


layers = [keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)]
model = keras.Sequential([keras.Input((8,)), *([Python()] if KIND == "python" else []), *layers])
model.compile("sgd", "mse", run_eagerly=KIND == "arrays")
validation = {} if KIND == "arrays" else {"validation_data": (ROWS, SUMS)}
history = model.fit(epochs=4, verbose=0, **data(), **validation).history
print("losses", *history["loss"])
print("validations", len(history.get("val_loss", [])))
print("compiled", model.jit_compile, model.steps_per_execution)
print("threads", tf.config.threading.get_intra_op_parallelism_threads())
print("gc", gc.isenabled())
