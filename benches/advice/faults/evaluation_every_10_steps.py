"""Fits a Keras classifier and evaluates it on the validation set again and again.

The fault: a callback calls `model.evaluate` after every tenth batch.
"""

from __future__ import annotations

import argparse

import keras
import numpy as np


class EvaluateOften(keras.callbacks.Callback):
    def __init__(self, inputs: np.ndarray, labels: np.ndarray) -> None:
        super().__init__()
        self.inputs, self.labels = inputs, labels

    def on_train_batch_end(self, batch: int, logs=None) -> None:
        if batch % 10 == 9:
            self.model.evaluate(self.inputs, self.labels, batch_size=128, verbose=0)


class EvaluateEachEpoch(EvaluateOften):
    def on_train_batch_end(self, batch: int, logs=None) -> None:
        pass

    def on_epoch_end(self, epoch: int, logs=None) -> None:
        self.model.evaluate(self.inputs, self.labels, batch_size=128, verbose=0)


def train(callback: type[EvaluateOften], epochs: int) -> None:
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
        callbacks=[callback(inputs[:2048], labels[:2048])],
    )
    for epoch, value in enumerate(history.history["loss"]):
        print(f"epoch {epoch} loss {value:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    train(EvaluateEachEpoch if options.fixed else EvaluateOften, options.epochs)
