"""A small Keras model on the CPU, with one of several faults; `--fixed` trains without it."""

import argparse

import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("fault", choices=["eager", "single_steps", "no_jit"])
parser.add_argument("--fixed", action="store_true")
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--batch", type=int, default=32)
options = parser.parse_args()

keras.utils.set_random_seed(0)
width = options.width
hidden = [keras.layers.Dense(width, activation="relu") for _ in range(3)]
model = keras.Sequential([keras.Input((64,)), *hidden, keras.layers.Dense(10)])
model.compile(
    optimizer="adam",
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    run_eagerly=options.fault == "eager" and not options.fixed,
    steps_per_execution=25 if options.fault == "single_steps" and options.fixed else 1,
    jit_compile=options.fault == "no_jit" and options.fixed,
)
steps = 100 if options.fault == "eager" else 500
rows = np.random.default_rng(0).normal(size=(options.batch * steps, 64)).astype("float32")
model.fit(rows, (rows.sum(1) > 0).astype("int32"), batch_size=options.batch, epochs=4, verbose=0)
