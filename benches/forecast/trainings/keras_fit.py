"""A Keras `fit` on a table, with validation after every epoch and, if asked for, checkpoints.

python keras_fit.py [--rows N] [--batch N] [--epochs N] [--evaluate EVERY] [--checkpoint 1]
"""

import argparse

import keras
import marks
import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=int, default=16_384)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--evaluate", type=int, default=1)
parser.add_argument("--checkpoint", type=int, default=0)
args = parser.parse_args()


class Marks(keras.callbacks.Callback):
    """Notes when steps and epochs end."""

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        marks.step()

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        marks.epoch()


def main() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(0)
    inputs = np.random.randn(args.rows, 64).astype("float32")
    targets = np.random.randint(0, 10, args.rows)
    layers = [
        keras.layers.Dense(256, "relu"),
        keras.layers.Dense(256, "relu"),
        keras.layers.Dense(10),
    ]
    model = keras.Sequential([keras.Input((64,)), *layers])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    callbacks: list[keras.callbacks.Callback] = [Marks()]
    if args.checkpoint:
        callbacks.append(keras.callbacks.ModelCheckpoint("last.keras"))
    held_out = (inputs[: args.rows // 8], targets[: args.rows // 8]) if args.evaluate else None
    model.fit(
        inputs,
        targets,
        batch_size=args.batch,
        epochs=args.epochs,
        validation_data=held_out,
        validation_freq=max(args.evaluate, 1),
        callbacks=callbacks,
        verbose=0,
    )


main()
