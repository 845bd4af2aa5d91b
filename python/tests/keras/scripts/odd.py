"""What a `fit` may be besides plain: fused, eager, with a step of its own, around another, failing."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(6)
x = np.random.rand(250, 4).astype("float32")
y = x.sum(axis=1, keepdims=True)


def make(kind=keras.Sequential, **options):  # noqa: ANN001, ANN003, ANN201
    model = kind([keras.layers.Dense(3), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", **options)
    return model


def losses(history):  # noqa: ANN001, ANN201
    return [value.hex() for value in history.history["loss"]]


class Own(keras.Sequential):
    """A model with a step of its own."""

    def train_step(self, data):  # noqa: ANN001, ANN201
        features, target = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=target, y_pred=self(features, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


class Inner(keras.callbacks.Callback):
    """Trains another model whenever an epoch ends."""

    def on_epoch_end(self, epoch, logs=None):  # noqa: ANN001, ANN201
        make().fit(x[:50], y[:50], verbose=0)
        self.model.predict(x[:50], verbose=0)


class Within(keras.callbacks.Callback):
    """Evaluates in the middle of each epoch, and stops in the third step of the second."""

    epoch = 0

    def on_epoch_begin(self, epoch, logs=None):  # noqa: ANN001, ANN201
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):  # noqa: ANN001, ANN201
        if self.epoch == 0 and batch == 4:
            self.model.evaluate(x[:50], y[:50], verbose=0)
        self.model.stop_training = self.epoch == 1 and batch == 2


class Fails(keras.callbacks.Callback):
    """Ends the second epoch in its fourth step."""

    epoch = 0

    def on_epoch_begin(self, epoch, logs=None):  # noqa: ANN001, ANN201
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):  # noqa: ANN001, ANN201
        if self.epoch == 1 and batch == 3:
            raise RuntimeError("stop here")


print("fused", losses(make(steps_per_execution=4).fit(x, y, batch_size=25, epochs=2, verbose=0)))
print("eager", losses(make(run_eagerly=True).fit(x, y, batch_size=25, epochs=2, verbose=0)))
print("own", losses(make(Own).fit(x, y, batch_size=25, epochs=2, verbose=0)))
print("inner", losses(make().fit(x, y, batch_size=25, epochs=2, verbose=0, callbacks=[Inner()])))
within = [Within()]
history = make().fit(
    x, y, batch_size=25, epochs=5, validation_data=(x, y), verbose=0, callbacks=within
)
print("within", losses(history))
failing = make()
try:
    failing.fit(x, y, batch_size=25, epochs=3, verbose=0, callbacks=Fails())
except RuntimeError as error:
    print(error)
print("again", losses(failing.fit(x, y, batch_size=25, epochs=2, verbose=0)))
