"""Fits a small Keras network.

The fault: `batch_size=4` where the same network takes 128 rows at little more than the price of 4.
"""

from __future__ import annotations

import argparse

import keras
import numpy as np


def train(batch: int, epochs: int) -> None:
    keras.utils.set_random_seed(0)
    inputs = np.random.default_rng(0).standard_normal((6144, 32), dtype=np.float32)
    targets = inputs[:, :4].sum(axis=1)
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.01), loss="mse")
    history = model.fit(inputs, targets, batch_size=batch, epochs=epochs, verbose=0)
    for epoch, value in enumerate(history.history["loss"]):
        print(f"epoch {epoch} loss {value:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    train(128 if options.fixed else 4, options.epochs)
