"""A hook that cannot attach is off: the training goes on, and summary and JSON say which one and why."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import laptime
import pytest
from installs import clean
from side_by_side import check_same, run

LAPTIME = str(Path(sys.executable).parent / "laptime")

# Changes a module when it has been executed, before anybody else sees it.
BREAKER = """
import sys
from importlib.machinery import PathFinder

class Breaker:
    def find_spec(self, name, path=None, target=None):
        if name != {module!r}:
            return None
        spec = PathFinder.find_spec(name, path, target)
        original = spec.loader.exec_module

        def exec_module(module):
            original(module)
            exec({change!r}, {{"module": module}})

        spec.loader.exec_module = exec_module
        return spec

# Before Python's own finders, which are classes, and behind the others.
sys.meta_path.append(Breaker())
sys.meta_path.sort(key=lambda finder: isinstance(finder, type))
"""

SEALED = """
from abc import ABCMeta

class Sealed(ABCMeta):
    def __setattr__(self, name, value):
        if name == "__init_subclass__":
            raise AttributeError("sealed")
        super().__setattr__(name, value)

module.BaseEstimator = Sealed("BaseEstimator", (module.BaseEstimator,), {})
"""


@dataclass(frozen=True)
class Broken:
    """What is changed, which hook that breaks, and a training that does not need it."""

    module: str
    change: str
    hook: str
    script: str
    fits: int = 1


TORCH = """
import torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for step in range(3):
        optimizer.zero_grad()
        model(torch.ones(4, 2)).sum().backward()
        optimizer.step()
print("over")
"""
KERAS = """
import keras, numpy
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(numpy.ones((8, 2)), numpy.ones((8, 1)), epochs=2, verbose=0)
print("over")
"""
TENSORFLOW = """
import tensorflow as tf
weight = tf.Variable(1.0)
for step in range(3):
    with tf.GradientTape() as tape:
        loss = weight * weight
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
print("over")
"""
SKLEARN = """
from sklearn.linear_model import LinearRegression
print(LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0]).coef_.shape)
"""
JAX = """
import jax
@jax.jit
def train_step(weight):
    return weight - 0.1 * jax.grad(lambda weight: weight * weight)(weight)
weight = 1.0
for step in range(3):
    weight = train_step(weight)
print(float(weight))
"""
XGBOOST = """
import numpy, xgboost
data = xgboost.DMatrix(numpy.arange(40.0).reshape(20, 2), numpy.arange(20) % 2)
print(xgboost.train({"nthread": 1}, data, 3).num_boosted_rounds())
"""
LIGHTGBM = """
import lightgbm, numpy
data = lightgbm.Dataset(numpy.arange(80.0).reshape(40, 2), numpy.arange(40) % 2)
print(lightgbm.train({"verbose": -1, "num_threads": 1}, data, 3).num_trees())
"""
# The method that is hooked has another name.
CATBOOST_WITHOUT_TRAIN = """
base = module.CatBoost.__mro__[1]
train = base._train
del base._train
base.__getattr__ = lambda self, name: train.__get__(self) if name == "_train" else object.__getattribute__(self, name)
"""
CATBOOST = """
import catboost, numpy
model = catboost.CatBoostRegressor(iterations=3, verbose=0, thread_count=1, allow_writing_files=False)
print(model.fit(numpy.arange(40.0).reshape(20, 2), numpy.arange(20)).tree_count_)
"""

BROKEN = {
    "torch": Broken("torch", "del module.save", "torch.save", TORCH),
    "keras": Broken("keras", "del module.callbacks.ModelCheckpoint", "ModelCheckpoint", KERAS),
    "tensorflow": Broken(
        "tensorflow", "del module.train.Checkpoint", "tf.train.Checkpoint", TENSORFLOW, fits=0
    ),
    "sklearn": Broken("sklearn.base", SEALED, "BaseEstimator.fit", SKLEARN, fits=0),
    "jax": Broken("jax", "del module.block_until_ready", "jax.block_until_ready", JAX),
    "xgboost": Broken("xgboost", "del module.training", "xgboost.train", XGBOOST, fits=0),
    "lightgbm": Broken(
        "lightgbm", "del module.Booster.eval_valid", "lightgbm.Booster.eval_valid", LIGHTGBM
    ),
    "catboost": Broken(
        "catboost", CATBOOST_WITHOUT_TRAIN, "catboost.CatBoost._train", CATBOOST, fits=0
    ),
}


@pytest.mark.parametrize("framework", BROKEN)
def test_a_broken_hook_of(framework: str, tmp_path: Path) -> None:
    if find_spec(framework) is None:
        pytest.skip(f"no {framework} here")
    broken = BROKEN[framework]
    (tmp_path / "script.py").write_text(broken.script)
    (tmp_path / "site").mkdir()
    breaker = BREAKER.format(module=broken.module, change=broken.change)
    (tmp_path / "site" / "sitecustomize.py").write_text(breaker)
    plain = {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow"}
    environment = clean() | plain | {"PYTHONPATH": str(tmp_path / "site")}
    words = [sys.executable, "script.py"]
    hooked = run([LAPTIME, "run", "--", *words], environment, tmp_path)
    check_same(run(words, environment, tmp_path), hooked)
    report = laptime.load(dir=tmp_path / ".laptime").to_dict()
    hooks = [one["trouble"].get("hook") for one in report["warnings"] if "trouble" in one]
    assert broken.hook in hooks, report["warnings"]
    assert f"the hook of {broken.hook} is off (" in hooked.summary
    assert len(report["fits"]) >= broken.fits
