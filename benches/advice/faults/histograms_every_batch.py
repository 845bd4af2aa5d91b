"""Trains a Keras network and keeps histograms of its weights.

The fault: the callback computes them after every batch.
"""

from __future__ import annotations

import argparse

import keras
import numpy as np


class Histograms(keras.callbacks.Callback):
    def __init__(self, every: int) -> None:
        super().__init__()
        self.every = every
        self.kept: list[list[np.ndarray]] = []

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        if batch % self.every == 0:
            weights = self.model.get_weights()
            self.kept.append([np.histogram(each, bins=30)[0] for each in weights])


def train(epochs: int, every: int) -> None:
    keras.utils.set_random_seed(0)
    hidden = [keras.layers.Dense(256, activation="relu") for _ in range(3)]
    model = keras.Sequential([keras.Input((64,)), *hidden, keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss)
    rows = np.random.default_rng(0).normal(size=(200 * 64, 64)).astype("float32")
    labels = rows[:, :10].argmax(axis=1)
    callbacks = [Histograms(every)]
    model.fit(rows, labels, batch_size=64, epochs=epochs, verbose=2, callbacks=callbacks)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    train(options.epochs, every=100 if options.fixed else 1)
