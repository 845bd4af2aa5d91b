"""What Keras and TensorFlow scripts write."""

import os

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
x, y = np.random.rand(64, 4), np.random.rand(64, 1)
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
callbacks = [
    keras.callbacks.ModelCheckpoint("runs/{epoch}.keras"),
    keras.callbacks.ModelCheckpoint("best.weights.h5", save_weights_only=True),
    keras.callbacks.CSVLogger("run.log", append=True),
    keras.callbacks.TensorBoard("logs"),
    keras.callbacks.BackupAndRestore("backup"),
]
model.fit(x, y, epochs=2, verbose=0, callbacks=callbacks)
model.save("model.keras")
model.save("model.h5")
model.save_weights("last.weights.h5")
model.load_weights("last.weights.h5")
keras.models.load_model("model.keras")
print(sorted(os.listdir("runs")), sorted(os.listdir(".")))

checkpoint = tf.train.Checkpoint(model=model)
checkpoint.restore(checkpoint.save("tf/checkpoint"))
manager = tf.train.CheckpointManager(checkpoint, "managed", max_to_keep=1)
manager.save()
manager.save()
checkpoint.restore(manager.latest_checkpoint)
print(os.path.basename(tf.train.latest_checkpoint("tf")))
with tf.io.gfile.GFile("model.pt", "w") as file:
    file.write("written")
print(tf.io.gfile.GFile("model.pt").read(), tf.io.gfile.exists("model.pt"))
tf.io.gfile.remove("old.pt")
tf.io.gfile.rename("best.pt", "better.pt")
print(tf.io.gfile.exists("old.pt"), tf.io.gfile.exists("best.pt"), os.path.exists("better.pt"))
model.export("exported", verbose=False)
