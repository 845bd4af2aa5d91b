"""Trains with laptime.Loader where a DataLoader would be: two epochs, with an evaluation after each."""

import json
import os
import subprocess
import sys
import tempfile
import time

import laptime
import numpy as np
import torch

torch.manual_seed(0)
torch.set_num_threads(1)
with tempfile.TemporaryDirectory() as folder:
    rows = np.random.default_rng(0).normal(size=(2000, 8)).astype(np.float32)
    np.savez(f"{folder}/table.npz", x=rows, y=rows.sum(axis=1, keepdims=True))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LAPTIME", "PYTHON"))}
    command = [sys.executable, "-m", "laptime", "pack", f"{folder}/table.npz", "--quiet"]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    loader = laptime.Loader(
        f"{folder}/table.pack", batch_size=50, shuffle=True, subset=range(1500), threads=1
    )
    test = laptime.Loader(f"{folder}/table.pack", batch_size=100, subset=range(1500, 2000))
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    epochs = []
    for epoch in range(2):
        began = time.perf_counter()
        model.train()
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            time.sleep(0.002)
        epochs.append(time.perf_counter() - began)
        model.eval()
        with torch.no_grad():
            losses = [torch.nn.functional.mse_loss(model(x), y).item() for x, y in test]
        print(epoch, round(sum(losses) / len(losses), 4))
if "TRUTH_FILE" in os.environ:
    with open(os.environ["TRUTH_FILE"], "w") as file:
        json.dump(epochs, file)
