"""A `tf.data` pipeline of a million rows; how many there are is not known beforehand."""

import tensorflow as tf
from clock import EpochClock

tf.keras.utils.set_random_seed(2)


def make(i):  # noqa: ANN001, ANN201
    x = tf.random.stateless_uniform((8,), seed=(i, 7))
    return x, tf.reduce_sum(x, keepdims=True)


few = tf.data.Dataset.range(1000).map(make).batch(1000)
rows = few.repeat(1000).filter(lambda x, y: tf.shape(x)[0] > 0).prefetch(2)
model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
history = model.fit(rows, epochs=1, verbose=0, callbacks=[EpochClock()])
print([value.hex() for value in history.history["loss"]])
# As many steps as are asked for make an epoch.
endless = few.repeat()
history = model.fit(endless, epochs=3, steps_per_epoch=20, verbose=0, callbacks=[EpochClock()])
print([value.hex() for value in history.history["loss"]])
