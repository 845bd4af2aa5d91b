"""`train_on_batch` in loops: over slices in epochs, over a pipeline, and without epochs; on any backend."""

import keras
import numpy as np
import tensorflow as tf
from epoch_clock import epoch_took, now

keras.utils.set_random_seed(12)
x = np.random.rand(90, 6).astype("float32")
y = x[:, :1] * 2


def make():  # noqa: ANN201
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(4), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    return model


def in_slices() -> float:
    model = make()
    for epoch in range(3):
        began = now()
        for at in range(0, len(x), 30):
            loss = model.train_on_batch(x[at : at + 30], y[at : at + 30])
        epoch_took(now() - began)
        model.test_on_batch(x, y)
    return float(loss)


def over_pipeline() -> float:
    model = make()
    rows = tf.data.Dataset.from_tensor_slices((x, y)).batch(40)
    for _ in range(2):
        began = now()
        for features, target in rows:
            loss = model.train_on_batch(features.numpy(), target.numpy())
        epoch_took(now() - began)
    return float(loss)


def without_epochs() -> float:
    model = make()
    random = np.random.default_rng(1)
    step = 0
    while step < 40:
        rows = random.integers(0, len(x), 16)
        loss = model.train_on_batch(x[rows], y[rows])
        step += 1
    return float(loss)


print(in_slices().hex())
print(over_pipeline().hex())
print(without_epochs().hex())
