"""Fits a Keras classifier and evaluates it on the validation set again and again.

The fault: a callback goes through the validation set after every tenth batch.
"""

from __future__ import annotations

import argparse

import keras
import numpy as np


class Evaluation(keras.callbacks.Callback):
    """The loss on the validation set, after every so many batches or else after each epoch."""

    def __init__(self, inputs: np.ndarray, labels: np.ndarray, every: int | None) -> None:
        super().__init__()
        self.inputs, self.labels, self.every = inputs, labels, every
        self.losses: list[float] = []

    def on_train_begin(self, logs=None) -> None:
        # A model of its own over the same layers: to evaluate the one in `fit` resets its loss.
        self.judge = keras.Sequential(self.model.layers)
        self.judge.compile(loss=self.model.loss)

    def evaluate(self) -> None:
        self.losses.append(self.judge.evaluate(self.inputs, self.labels, 128, verbose=0))

    def on_train_batch_end(self, batch: int, logs=None) -> None:
        if self.every and (batch + 1) % self.every == 0:
            self.evaluate()

    def on_epoch_end(self, epoch: int, logs=None) -> None:
        if not self.every:
            self.evaluate()


def train(every: int | None, epochs: int) -> None:
    keras.utils.set_random_seed(0)
    noise = np.random.default_rng(0)
    inputs = noise.standard_normal((16384 + 2048, 256), dtype=np.float32)
    labels = (inputs[:, :10]).argmax(axis=1)
    model = keras.Sequential(
        [
            keras.layers.Dense(512, activation="relu"),
            keras.layers.Dense(512, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.SGD(0.05), loss=loss)
    history = model.fit(
        inputs[2048:],
        labels[2048:],
        batch_size=64,
        epochs=epochs,
        verbose=0,
        callbacks=[Evaluation(inputs[:2048], labels[:2048], every)],
    )
    for epoch, value in enumerate(history.history["loss"]):
        print(f"epoch {epoch} loss {value:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    train(None if options.fixed else 10, options.epochs)
