"""A `fit` with one planted slow layer; `eager` runs it eagerly."""

import sys
import time

import keras
import numpy as np

keras.utils.set_random_seed(7)


class Planted(keras.layers.Layer):
    def call(self, rows):
        time.sleep(0.004)
        return rows


model = keras.Sequential(
    [
        keras.Input((16,)),
        keras.layers.Dense(32, activation="relu"),
        Planted(name="planted"),
        keras.layers.Dense(4),
    ]
)
model.compile("sgd", "mse", run_eagerly="eager" in sys.argv, jit_compile=False)
rows = np.random.rand(64, 16).astype("float32")
answers = np.random.rand(64, 4).astype("float32")
history = model.fit(rows, answers, batch_size=8, epochs=2, verbose=0)
print([loss.hex() for loss in history.history["loss"]])
