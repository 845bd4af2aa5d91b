"""TensorFlow without an optimizer: variables that the script assigns itself, eagerly and in a compiled function."""

import tensorflow as tf
from epoch_clock import epoch_took, now

tf.random.set_seed(13)
x = tf.random.uniform((96, 5))
y = tf.reduce_sum(x, axis=1, keepdims=True)


def eagerly() -> float:
    weight, bias = tf.Variable(tf.zeros((5, 1))), tf.Variable(tf.zeros((1,)))
    rows = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    # Recording starts with the first batch: better here than in the first epoch, which the clock is read for.
    print(*(features.shape for features, _ in rows.take(1)))
    for epoch in range(3):
        began = now()
        for features, target in rows:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((features @ weight + bias - target) ** 2)
            for variable, gradient in zip(
                (weight, bias), tape.gradient(loss, (weight, bias)), strict=True
            ):
                variable.assign_sub(0.1 * gradient)
        epoch_took(now() - began)
    return float(loss)


def compiled() -> float:
    weight, bias = tf.Variable(tf.zeros((5, 1))), tf.Variable(tf.zeros((1,)))

    @tf.function
    def train_step(features, target):  # noqa: ANN001, ANN202
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((features @ weight + bias - target) ** 2)
        gradients = tape.gradient(loss, (weight, bias))
        weight.assign_sub(0.1 * gradients[0])
        bias.assign_sub(0.1 * gradients[1])
        return loss

    for epoch in range(2):
        began = now()
        for at in range(0, 96, 24):
            loss = train_step(x[at : at + 24], y[at : at + 24])
        epoch_took(now() - began)
    return float(loss)


print(eagerly().hex())
print(compiled().hex())
