"""Trainings of Ray Train: two workers are two ranks of one run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 300

SCRIPT = """
import sys

import ray
import ray.train.torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def loop(config):
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
    model = ray.train.torch.prepare_model(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(config["epochs"]):
        for x, y in DataLoader(data, batch_size=16):
            loss = ((model(x) - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if sys.argv[2] == "recorded":
    import laptime.ray

    loop = laptime.ray.recorded(loop)
ray.init(address=sys.argv[1], log_to_driver=False)
trainer = TorchTrainer(
    loop,
    train_loop_config={"epochs": 3},
    scaling_config=ScalingConfig(num_workers=2),
    run_config=RunConfig(storage_path=sys.argv[3]),
)
trainer.fit()
"""


@pytest.mark.parametrize("how", ["recorded", "run"])
def test_two_workers_of_a_torch_trainer_are_two_ranks_of_one_run(
    cluster: Any, tmp_path: Path, how: str
) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    words = [sys.executable, str(script), cluster.address, how, str(tmp_path / "results")]
    under = [sys.executable, "-m", "laptime", "run", "--"] if how == "run" else []
    environment = {**os.environ, "LAPTIME_DIR": str(tmp_path / "runs")}
    done = subprocess.run(
        [*under, *words], cwd=tmp_path, env=environment, capture_output=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr.decode()
    (run,) = [run for run in (tmp_path / "runs").iterdir() if run.name[:1].isdigit()]
    report = subprocess.run(
        [sys.executable, "-m", "laptime", "report", "--json", run.name],
        env=environment,
        capture_output=True,
        timeout=PATIENCE,
    )
    document = json.loads(report.stdout)
    assert document["run"]["status"] == "finished" and document["run"]["ranks"] == 2
    assert [rank["steps"] for rank in document["ranks"]] == [12, 12]
    assert [fit["epochs"] for fit in document["fits"]] == [3]
    assert not [name for name in os.listdir(tmp_path / "runs") if name.startswith("ray-")]
