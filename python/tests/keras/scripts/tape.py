"""A small CNN trained by hand with a `GradientTape`, scalars written each epoch, and a test after it."""

import sys
import tempfile

import tensorflow as tf
from epoch_clock import epoch_took, now

tf.keras.utils.set_random_seed(3)
compiled = "compiled" in sys.argv
images = tf.random.uniform((230, 12, 12, 1))
labels = tf.random.uniform((230,), maxval=4, dtype=tf.int32)
train = (
    tf.data.Dataset.from_tensor_slices((images[:200], labels[:200])).shuffle(200, seed=1).batch(32)
)
test = tf.data.Dataset.from_tensor_slices((images[200:], labels[200:])).batch(16)


class Net(tf.keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.conv = tf.keras.layers.Conv2D(8, 3, activation="relu")
        self.flat = tf.keras.layers.Flatten()
        self.out = tf.keras.layers.Dense(4)

    def call(self, x, training=False):  # noqa: ANN001, ANN201, FBT002
        return self.out(self.flat(self.conv(x)))


model = Net()
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam()
train_loss = tf.keras.metrics.Mean()
test_loss = tf.keras.metrics.Mean()


def train_step(x, y):  # noqa: ANN001, ANN201
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    train_loss(loss)


def test_step(x, y):  # noqa: ANN001, ANN201
    test_loss(loss_of(y, model(x, training=False)))


if compiled:
    train_step, test_step = tf.function(train_step), tf.function(test_step)

with tempfile.TemporaryDirectory() as folder:
    writer = tf.summary.create_file_writer(folder)
    for epoch in range(3):
        train_loss.reset_state()
        test_loss.reset_state()
        began = now()
        for x, y in train:
            train_step(x, y)
        epoch_took(now() - began)
        for x, y in test:
            test_step(x, y)
        with writer.as_default():
            tf.summary.scalar("loss", train_loss.result(), step=epoch)
            tf.summary.scalar("test loss", test_loss.result(), step=epoch)
        tf.train.Checkpoint(model).save(folder + "/model")
        print(epoch, float(train_loss.result()).hex(), float(test_loss.result()).hex())
    writer.close()
