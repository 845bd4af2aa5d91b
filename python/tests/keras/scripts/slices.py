"""Trainings without `tf.data`: slices of arrays, in a decorated function that is called for two models."""

import functools
import time

import keras
import numpy as np
import tensorflow as tf
from epoch_clock import epoch_took, now

keras.utils.set_random_seed(4)
x = np.random.rand(90, 6).astype("float32")
y = x[:, :1] * 2


def timed(function):  # noqa: ANN001, ANN201
    @functools.wraps(function)
    def wrapper(*args, **kwargs):  # noqa: ANN002, ANN003, ANN202
        began = time.perf_counter()
        result = function(*args, **kwargs)
        assert time.perf_counter() > began
        return result

    return wrapper


@timed
def train(units):  # noqa: ANN001, ANN201
    model = keras.Sequential([keras.layers.Dense(units), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1)
    for epoch in range(3):
        began = now()
        for at in range(0, len(x), 30):
            with tf.GradientTape() as tape:
                error = model(x[at : at + 30], training=True) - y[at : at + 30]
                loss = tf.reduce_mean(error**2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        epoch_took(now() - began)
        print(units, epoch, float(loss).hex())


train(4)
train(8)
