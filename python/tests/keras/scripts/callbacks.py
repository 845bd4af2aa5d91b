"""A generator, early stopping, checkpoints and TensorBoard, all as callbacks of one fit."""

import os
import tempfile

import keras
import numpy as np
from epoch_clock import EpochClock

keras.utils.set_random_seed(5)
random = np.random.default_rng(5)
x = random.random((320, 5), dtype="float32")
y = (x.sum(axis=1) > 2.5).astype("float32")


def batches():  # noqa: ANN201
    while True:
        for at in range(0, len(x), 32):
            yield x[at : at + 32], y[at : at + 32]


model = keras.Sequential(
    [keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1, activation="sigmoid")]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
with tempfile.TemporaryDirectory() as folder:
    history = model.fit(
        batches(),
        steps_per_epoch=10,
        epochs=20,
        verbose=0,
        validation_data=(x, y),
        callbacks=[
            EpochClock(of_batches=True),
            keras.callbacks.EarlyStopping(monitor="val_loss", min_delta=10.0, patience=2),
            keras.callbacks.ModelCheckpoint(os.path.join(folder, "best.keras")),
            keras.callbacks.TensorBoard(os.path.join(folder, "logs")),
        ],
    )
    print(sorted(os.listdir(folder)))
print({name: [value.hex() for value in values] for name, values in history.history.items()})
