"""The same regression with three batch sizes, with a validation set and every kind of progress."""

import contextlib
import io

import keras
import numpy as np
from epoch_clock import EpochClock

keras.utils.set_random_seed(1)
x = np.random.rand(2400, 8).astype("float32")
y = x.sum(axis=1, keepdims=True)

for verbose, batch in enumerate((30, 60, 120)):
    inputs = keras.Input((8,))
    hidden = keras.layers.Dense(32, activation="relu")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    model.compile(optimizer=keras.optimizers.SGD(0.01), loss="mse")
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        history = model.fit(
            x[:2000],
            y[:2000],
            batch_size=batch,
            epochs=3,
            verbose=verbose,
            validation_data=(x[2000:], y[2000:]),
            callbacks=[EpochClock(of_batches=True)],
        )
    # What is shown has times in it; how often something is shown has none.
    print(batch, [value.hex() for value in history.history["val_loss"]], bool(shown.getvalue()))
