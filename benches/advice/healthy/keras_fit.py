"""Fits a Keras network on arrays in memory, compiled and in batches of a sensible size."""

from __future__ import annotations

import argparse

import keras
import numpy as np

ROWS, WIDTH = 8192, 768


def train(epochs: int) -> None:
    keras.utils.set_random_seed(0)
    inputs = np.random.default_rng(0).standard_normal((ROWS, WIDTH), dtype=np.float32)
    labels = inputs[:, :10].argmax(axis=1)
    model = keras.Sequential(
        [
            keras.layers.Dense(WIDTH, activation="relu"),
            keras.layers.Dense(WIDTH, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.SGD(0.05), loss=loss)
    history = model.fit(inputs, labels, batch_size=256, epochs=epochs, verbose=0)
    for epoch, value in enumerate(history.history["loss"]):
        print(f"epoch {epoch} loss {value:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    train(parser.parse_args().epochs)
