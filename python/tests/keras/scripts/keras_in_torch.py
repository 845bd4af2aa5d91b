"""A Keras model and a Keras optimizer in a loop written for torch."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import torch
from epoch_clock import epoch_took, now
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
keras.utils.set_random_seed(15)
loader = DataLoader(TensorDataset(torch.randn(320, 8), torch.randn(320, 1)), 32)
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam()
loss_of = keras.losses.MeanSquaredError()
for epoch in range(3):
    began = now()
    for x, y in loader:
        model.zero_grad()
        loss = loss_of(y, model(x))
        loss.backward()
        weights = list(model.trainable_weights)
        gradients = [weight.value.grad for weight in weights]
        with torch.no_grad():
            optimizer.apply(gradients, weights)
    epoch_took(now() - began)
    print(epoch, float(loss).hex())
