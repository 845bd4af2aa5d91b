"""Trains the reference models in TensorFlow, of Keras' layers and the whole step in one `tf.function`.

The data stays in tensors and a step gathers its rows; losses are summed in a variable, so that nothing is read before
the epoch's end.
"""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops
from serve import (
    BLOCKS,
    CLASSES,
    EMBEDDING,
    HEADS,
    INNER,
    SIDE,
    STATE,
    VOCABULARY,
    WIDTH,
    data,
    is_regression,
    learning_rate,
    serve,
)

RECURRENT = {"rnn": layers.SimpleRNN, "lstm": layers.LSTM, "gru": layers.GRU}


def embedding(tokens: int, width: int) -> Any:
    return layers.Embedding(
        tokens, width, embeddings_initializer=keras.initializers.RandomNormal(0, 1)
    )


def transformer(length: int) -> Any:
    tokens = keras.Input((length,), dtype="int32")
    places = embedding(length, WIDTH)(ops.arange(length))
    x = embedding(VOCABULARY, WIDTH)(tokens) + places

    def norm(x: Any) -> Any:
        return layers.LayerNormalization(epsilon=1e-5)(x)

    for _ in range(BLOCKS):
        before = norm(x)
        attention = layers.MultiHeadAttention(HEADS, WIDTH // HEADS)
        x = x + attention(before, before, use_causal_mask=True)
        x = x + layers.Dense(WIDTH)(layers.Dense(INNER, "relu")(norm(x)))
    return keras.Model(tokens, layers.Dense(VOCABULARY)(norm(x)))


def network(model: str, length: int) -> Any:
    if model == "linear":
        return keras.Sequential([keras.Input((1,)), layers.Dense(1)])
    if model == "mlp":
        return keras.Sequential([keras.Input((10,)), layers.Dense(64, "relu"), layers.Dense(1)])
    if model == "cnn":
        convolution = layers.Conv2D(32, 3, activation="relu")
        flat = [layers.MaxPooling2D(2), layers.Flatten(), layers.Dense(CLASSES)]
        return keras.Sequential([keras.Input((SIDE, SIDE, 1)), convolution, *flat])
    if model == "transformer":
        return transformer(length)
    tokens = keras.Input((length,), dtype="int32")
    recurrent = RECURRENT[model](STATE, return_sequences=True)
    return keras.Sequential(
        [tokens, embedding(VOCABULARY, EMBEDDING), recurrent, layers.Dense(VOCABULARY)]
    )


class TensorFlowWorkload:
    """One model with its data and optimizer."""

    def __init__(self, model: str, rows: int, batch: int) -> None:
        keras.utils.set_random_seed(0)
        x, y = data(model, rows)
        self.rows, self.batch = rows, batch
        self.x = tf.constant(x.reshape(rows, SIDE, SIDE, 1) if model == "cnn" else x)
        self.y = tf.constant(y)
        self.is_regression = is_regression(model)
        self.network = network(model, x.shape[1])
        lr = learning_rate(model)
        self.optimizer = (
            keras.optimizers.SGD(lr)
            if model == "linear"
            else keras.optimizers.Adam(lr, epsilon=1e-8)
        )
        self.optimizer.build(self.network.trainable_variables)
        self.total = tf.Variable(0.0)
        self.random = np.random.default_rng(1)

    @tf.function
    def step(self, chosen: Any) -> None:
        x, y = tf.gather(self.x, chosen), tf.gather(self.y, chosen)
        with tf.GradientTape() as tape:
            given = self.network(x, training=True)
            if self.is_regression:
                losses = tf.square(given - y)
            else:
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, given)
            loss = tf.reduce_mean(losses)
        variables = self.network.trainable_variables
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        self.total.assign_add(loss * tf.cast(tf.size(chosen), tf.float32))

    def epoch(self) -> float:
        order = self.random.permutation(self.rows).astype(np.int32)
        self.total.assign(0.0)
        for start in range(0, self.rows, self.batch):
            self.step(tf.constant(order[start : start + self.batch]))
        return float(self.total) / self.rows


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    serve(f"TensorFlow {tf.__version__} function", TensorFlowWorkload)
