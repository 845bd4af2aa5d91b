"""Two compiled functions train one model in turn, in a loop of steps alone."""

import keras
import tensorflow as tf

keras.utils.set_random_seed(14)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(0.01)


def step(features, target, power):  # noqa: ANN001, ANN201
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(model(features, training=True) - target) ** power)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


@tf.function
def warm_up_step(features, target):  # noqa: ANN001, ANN201
    return step(features, target, 1.0)


@tf.function
def train_step(features, target):  # noqa: ANN001, ANN201
    return step(features, target, 2.0)


losses = []
for at in range(60):
    features = tf.random.stateless_uniform((16, 4), (at, 1))
    target = tf.reduce_sum(features, axis=1, keepdims=True)
    losses.append((warm_up_step if at < 20 else train_step)(features, target))
print(float(losses[-1]).hex())
