"""A `tf.data` pipeline of a million rows; how many there are is not known beforehand."""

import tensorflow as tf
from epoch_clock import EpochClock

tf.keras.utils.set_random_seed(2)


def make(i):  # noqa: ANN001, ANN201
    x = tf.reshape(tf.cast(i, tf.float32), (-1, 1)) / 1e6
    return x, 2 * x


rows = tf.data.Dataset.range(1_000_000).batch(5000).map(make).prefetch(2)
unknown = rows.filter(lambda x, y: tf.shape(x)[0] > 0)
model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
history = model.fit(unknown, epochs=1, verbose=0, callbacks=[EpochClock()])
print([value.hex() for value in history.history["loss"]])
# As many steps as are asked for make an epoch.
endless = rows.repeat()
history = model.fit(endless, epochs=3, steps_per_epoch=20, verbose=0, callbacks=[EpochClock()])
print([value.hex() for value in history.history["loss"]])
