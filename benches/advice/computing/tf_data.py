"""A Keras fit on a `tf.data` pipeline that maps one row after the other, over again in every epoch."""

import argparse

import keras
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", choices=["cache", "parallel", "prefetch"])
parser.add_argument("--work", type=int, default=40, help="how much there is to map")
parser.add_argument("--width", type=int, default=256)
options = parser.parse_args()

keras.utils.set_random_seed(0)


def prepare(row, label):
    for _ in range(options.work):
        row = tf.linalg.normalize(row + 0.1)[0]
    return row, label


rows = tf.random.normal((32 * 80, 64))
data = tf.data.Dataset.from_tensor_slices((rows, tf.cast(tf.reduce_sum(rows, 1) > 0, tf.int32)))
data = data.map(
    prepare, num_parallel_calls=tf.data.AUTOTUNE if options.fixed == "parallel" else None
)
if options.fixed == "cache":
    data = data.cache()
data = data.batch(32)
if options.fixed is not None:
    data = data.prefetch(tf.data.AUTOTUNE)
width = options.width
hidden = [keras.layers.Dense(width, activation="relu") for _ in range(3)]
model = keras.Sequential([keras.Input((64,)), *hidden, keras.layers.Dense(10)])
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(data, epochs=5, verbose=0)
