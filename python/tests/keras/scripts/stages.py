"""A fit whose callbacks, data and validation each take a time of their own."""

import json
import os
import time

import keras
import numpy as np
from epoch_clock import EpochClock

keras.utils.set_random_seed(16)
width = 256
x = np.random.rand(3200, width).astype("float32")
y = (x.sum(axis=1) > width / 2).astype("float32")
slept = {"callbacks": 0.0, "evaluate": 0.0}


def rest(seconds, stage):  # noqa: ANN001, ANN201
    began = time.perf_counter()
    time.sleep(seconds)
    slept[stage] += time.perf_counter() - began


class Slow(keras.callbacks.Callback):
    """Takes 1 ms after every batch, and 20 ms when an epoch begins."""

    def on_train_batch_end(self, batch, logs=None):  # noqa: ANN001, ANN201
        rest(0.001, "callbacks")

    def on_epoch_begin(self, epoch, logs=None):  # noqa: ANN001, ANN201
        rest(0.02, "callbacks")


def validation():  # noqa: ANN201
    """Its first batch is asked for while the validation is prepared."""
    rest(0.5, "evaluate")
    while True:
        yield x[:64], y[:64]


model = keras.Sequential(
    [
        keras.Input((width,)),
        keras.layers.Dense(width, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(
    optimizer="adam", loss="binary_crossentropy", metrics=["accuracy", keras.metrics.AUC()]
)
history = model.fit(
    x,
    y,
    batch_size=64,
    epochs=4,
    verbose=0,
    validation_data=validation(),
    validation_steps=2,
    callbacks=[EpochClock(of_batches=True), Slow()],
)
print([value.hex() for value in history.history["loss"]])
if "TRUTH_FILE" in os.environ:
    with open(os.environ["TRUTH_FILE"] + ".slept", "w") as file:
        json.dump(slept, file)
