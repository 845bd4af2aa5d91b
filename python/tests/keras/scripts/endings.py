"""Fits that are resumed or may end early: `python endings.py`."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
inputs, targets = np.random.randn(64, 4).astype("float32"), np.random.randn(64, 1)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse", metrics=["mae"])
stop = keras.callbacks.EarlyStopping


def fit(**settings) -> None:
    model.fit(inputs, targets, batch_size=16, verbose=0, **settings)


fit(initial_epoch=2, epochs=5)
fit(epochs=3, callbacks=[stop("loss", patience=2)])
fit(epochs=3, callbacks=[stop(patience=4)], validation_split=0.25)
fit(epochs=3, callbacks=[stop("mae", patience=2)])
