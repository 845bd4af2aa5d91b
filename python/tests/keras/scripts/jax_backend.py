"""Keras on JAX, which computes while Keras goes on: plain, fused, with a step of its own, eager, and by batches."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np
from epoch_clock import epoch_took, now

keras.utils.set_random_seed(11)
x = np.random.rand(250, 1024).astype("float32")
y = x.sum(axis=1, keepdims=True)


def make(kind=keras.Sequential, **options):  # noqa: ANN001, ANN003, ANN201
    # The input must be known: building a model late takes a moment of the first epoch.
    layers = [keras.Input((1024,)), keras.layers.Dense(1024), keras.layers.Dense(1)]
    model = kind(layers)
    model.compile(optimizer=keras.optimizers.SGD(1e-5), loss="mse", **options)
    return model


class Own(keras.Sequential):
    """A model with a step of its own."""

    def train_step(self, state, data):  # noqa: ANN001, ANN201
        features, target = data
        trainable, fixed, optimizer, metrics = state
        gradients_of = jax.value_and_grad(self.loss_of, has_aux=True)
        (loss, fixed), gradients = gradients_of(trainable, fixed, features, target)
        trainable, optimizer = self.optimizer.stateless_apply(optimizer, gradients, trainable)
        return {"loss": loss}, (trainable, fixed, optimizer, metrics)

    def loss_of(self, trainable, fixed, features, target):  # noqa: ANN001, ANN201
        found, fixed = self.stateless_call(trainable, fixed, features, training=True)
        return self.compute_loss(y=target, y_pred=found), fixed


class Clock(keras.callbacks.Callback):
    """What a pass takes at most: when it is computed only JAX knows."""

    def on_epoch_begin(self, epoch, logs=None):  # noqa: ANN001, ANN201
        self.began = now()

    def on_test_begin(self, logs=None):  # noqa: ANN001, ANN201
        epoch_took(now() - self.began, least=0.0)
        self.began = None

    def on_epoch_end(self, epoch, logs=None):  # noqa: ANN001, ANN201
        if self.began is not None:
            epoch_took(now() - self.began, least=0.0)


class Waits(keras.callbacks.Callback):
    """Looks at every step's loss, so that each is waited for."""

    def on_train_batch_end(self, batch, logs=None):  # noqa: ANN001, ANN201
        assert logs["loss"] >= 0


def fit(name, model, callbacks=(), **options):  # noqa: ANN001, ANN003, ANN201
    callbacks = [Clock(), *callbacks]
    history = model.fit(x, y, batch_size=25, epochs=3, verbose=0, callbacks=callbacks, **options)
    print(name, [value.hex() for value in history.history["loss"]])


fit("plain", make(), validation_data=(x[:50], y[:50]))
fit("fused", make(steps_per_execution=4))
fit("own", make(Own))
fit("eager", make(run_eagerly=True))
fit("waits", make(), [Waits()])
model = make()
for epoch in range(3):
    began = now()
    for at in range(0, 250, 50):
        loss = model.train_on_batch(x[at : at + 50], y[at : at + 50])
    epoch_took(now() - began)
print("batches", float(loss).hex())
