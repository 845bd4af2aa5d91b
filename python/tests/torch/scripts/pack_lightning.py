"""Lightning's Trainer with laptime.Loader for its data: the order is that of a loop of one's own."""

import os
import subprocess
import sys
import tempfile
import warnings

import laptime
import lightning
import numpy as np
import torch

warnings.simplefilter("ignore")


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer, self.seen = torch.nn.Linear(4, 1), []

    def training_step(self, batch, _):
        x, y = batch
        self.seen.append(y.flatten().tolist())
        return torch.nn.functional.mse_loss(self.layer(x), y)

    def validation_step(self, batch, _):
        x, y = batch
        torch.nn.functional.mse_loss(self.layer(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    rows = np.random.default_rng(0).normal(size=(1000, 4)).astype(np.float32)
    np.savez(f"{folder}/table.npz", x=rows, y=rows.sum(axis=1, keepdims=True))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LAPTIME", "PYTHON"))}
    command = [sys.executable, "-m", "laptime", "pack", f"{folder}/table.npz", "--quiet"]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)

    def load():
        return laptime.Loader(f"{folder}/table.pack", 50, shuffle=True, subset=range(800))

    test = laptime.Loader(f"{folder}/table.pack", 100, subset=range(800, 1000))
    trainer = lightning.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        num_sanity_val_steps=1,
        default_root_dir=folder,
    )
    model, loader = Model(), load()
    trainer.fit(model, loader, test)
    plain = load()
    print(len(model.seen), model.seen == [y.flatten().tolist() for _ in range(3) for _, y in plain])
