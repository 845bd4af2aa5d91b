"""Hugging Face's Trainer with laptime.Loader for its data."""

import os
import subprocess
import sys
import tempfile

import laptime
import numpy as np
import torch
from transformers import Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.seen = torch.nn.Linear(4, 1), 0

    def forward(self, x, y):
        self.seen += len(x)
        return {"loss": torch.nn.functional.mse_loss(self.layer(x), y)}


class PackTrainer(Trainer):
    def get_train_dataloader(self):
        return loader


torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    rows = np.random.default_rng(0).normal(size=(1000, 4)).astype(np.float32)
    np.savez(f"{folder}/table.npz", x=rows, y=rows.sum(axis=1, keepdims=True))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LAPTIME", "PYTHON"))}
    command = [sys.executable, "-m", "laptime", "pack", f"{folder}/table.npz", "--quiet"]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    loader = laptime.Loader(f"{folder}/table.pack", 50, shuffle=True, as_dict=True)
    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=3,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
    )
    model = Model()
    trainer = PackTrainer(model=model, args=arguments)
    trainer.remove_callback(PrinterCallback)
    print(trainer.train().global_step, model.seen, loader.state_dict()["epoch"])
