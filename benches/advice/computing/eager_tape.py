"""A training loop of TensorFlow whose step is no `tf.function`: every operation is called from Python."""

import argparse

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="compile the step")
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--layers", type=int, default=3)
options = parser.parse_args()

tf.keras.utils.set_random_seed(0)
width = options.width
hidden = [tf.keras.layers.Dense(width, activation="relu") for _ in range(options.layers)]
model = tf.keras.Sequential([tf.keras.Input((64,)), *hidden, tf.keras.layers.Dense(10)])
optimizer = tf.keras.optimizers.Adam()
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
rows = tf.random.normal((options.batch * 100, 64))
labels = tf.cast(tf.reduce_sum(rows, 1) > 0, tf.int32)
data = tf.data.Dataset.from_tensor_slices((rows, labels)).batch(options.batch).prefetch(2)


def train_step(inputs, truth):
    with tf.GradientTape() as tape:
        loss = loss_of(truth, model(inputs, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


if options.fixed:
    train_step = tf.function(train_step)
for _ in range(4):
    for inputs, truth in data:
        train_step(inputs, truth)
