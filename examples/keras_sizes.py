"""A regression with Keras on three dataset sizes in one script.

laptime run -- python examples/keras_sizes.py
"""

import argparse

import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 8_000, 32_000])
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--epochs", type=int, default=5)
args = parser.parse_args()

keras.utils.set_random_seed(0)
for rows in args.rows:
    features = np.random.default_rng(0).normal(size=(rows, 10)).astype("float32")
    target = features.sum(axis=1, keepdims=True)
    model = keras.Sequential(
        [
            keras.layers.Input((10,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="adam", loss="mse")
    history = model.fit(
        features, target, batch_size=args.batch, epochs=args.epochs, validation_split=0.1, verbose=0
    )
    print(f"{rows} rows: loss {history.history['loss'][-1]:.4f}")
