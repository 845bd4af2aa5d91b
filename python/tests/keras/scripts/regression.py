"""Regression with `Sequential.fit` at three dataset sizes in one script."""

import keras
import numpy as np
from epoch_clock import EpochClock

keras.utils.set_random_seed(0)
x = np.random.rand(8000, 13).astype("float32")
y = x @ np.arange(13, dtype="float32").reshape(13, 1)

for rows in (2000, 4000, 8000):
    model = keras.Sequential(
        [
            keras.layers.Input((13,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="adam", loss="mse")
    history = model.fit(
        x[:rows], y[:rows], batch_size=100, epochs=4, verbose=0, callbacks=[EpochClock()]
    )
    loss = model.evaluate(x[:500], y[:500], verbose=0)
    print(rows, [value.hex() for value in history.history["loss"]], loss.hex())
