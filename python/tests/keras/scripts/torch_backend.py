"""Keras on torch, where both have hooks: a fit is one fit, and nothing is counted twice."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from epoch_clock import EpochClock

torch.set_num_threads(1)
keras.utils.set_random_seed(9)
x = np.random.rand(230, 6).astype("float32")
y = x.sum(axis=1, keepdims=True)
for rows in (100, 200):
    model = keras.Sequential([keras.layers.Dense(5), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    history = model.fit(
        x[:rows],
        y[:rows],
        batch_size=32,
        epochs=3,
        validation_data=(x[200:], y[200:]),
        verbose=0,
        callbacks=[EpochClock(of_batches=True)],
    )
    print(rows, [value.hex() for value in history.history["val_loss"]])
print(model.evaluate(x, y, verbose=0).hex())
