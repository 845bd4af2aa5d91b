"""What Keras' objects say of a fit: versions, device, optimizer, and what the model learns."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .. import _guard, _native, _training

# Rows of a batch where nobody says how many: Keras' own number.
_USUAL_BATCH = 32


def backend() -> str:
    """What Keras computes with: `tensorflow`, `torch` or `jax`."""
    import keras

    return keras.backend.backend()


def _make_is_traced() -> Callable[[], bool]:
    if backend() == "tensorflow":
        import tensorflow as tf

        executing_eagerly = tf.executing_eagerly
        return lambda: not executing_eagerly()
    if backend() == "torch":
        from torch.compiler import is_dynamo_compiling

        # Itself, and not a function of ours: Dynamo knows it.
        return is_dynamo_compiling
    from keras.src.backend.common.stateless_scope import in_stateless_scope

    return in_stateless_scope


# Whether what is called now is only looked at, to be compiled, and not computed.
is_traced = _make_is_traced()


def version_facts() -> dict[str, Any]:
    """The versions of Keras and of what it computes with."""
    import keras

    below = sys.modules.get(backend())
    return {
        "framework_version": f"{keras.__version__} on {backend()} {getattr(below, '__version__', '')}".strip(),
        "backend": backend(),
    }


def model_facts(model: Any) -> dict[str, Any]:
    """What a model says of a fit before its first step."""
    facts = device_facts(model.trainable_weights) if model.built else {}
    return facts | (learning_facts(model.optimizer) if model.optimizer is not None else {})


def _layer_kinds(model: Any) -> str:
    """The kinds of layers that a model is made of, each once."""
    kinds = {type(layer).__name__ for layer in model._flatten_layers(include_self=False)}
    return " ".join(sorted(kinds))


@_guard.safely
def computing_facts(model: Any, iterator: Any) -> dict[str, Any]:
    """How a fit is computed and what its dataset is made of, for advice; reports leave these out."""
    facts = {
        "keras.dtype": model.dtype_policy.name,
        "keras.jit_compile": "on" if model.jit_compile else "off",
        "keras.run_eagerly": "on" if model.run_eagerly else "off",
        "keras.steps_per_execution": model.steps_per_execution,
        "keras.layers": _layer_kinds(model),
    }
    dataset = getattr(getattr(iterator, "data_adapter", None), "_dataset", None)
    if backend() == "tensorflow" and hasattr(dataset, "_inputs"):
        from ..tensorflow.facts import pipeline_facts

        facts |= pipeline_facts(dataset) or {}
    return facts


@_guard.safely
def validation_facts(fit: Mapping[str, Any]) -> dict[str, Any]:
    """How long a validation will be, by what `fit` holds: of arrays, and of datasets of known length."""
    every = fit.get("validation_freq")
    data: Any = fit.get("val_x")
    if fit.get("validation_data") is None or not isinstance(every, int):
        return {}
    facts: dict[str, Any] = {"keras.validation_every": every}
    shape = getattr(data, "shape", None)
    batches = fit.get("validation_steps")
    if shape:
        size = fit.get("validation_batch_size") or fit.get("batch_size") or _USUAL_BATCH
        batches = batches or math.ceil(shape[0] / size)
        facts["keras.validation_rows"] = min(int(shape[0]), batches * size)
    elif batches is None and backend() == "tensorflow" and hasattr(data, "cardinality"):
        # Negative where it is endless or not known.
        batches = int(data.cardinality())
    if not batches or batches < 0:
        return {}
    return facts | {"keras.validation_batches": batches}


@_guard.safely
def ending_facts(callbacks: Any, fit: Mapping[str, Any]) -> dict[str, Any]:
    """How many epochs a fit makes, and whether it may end before: by its loss, or by something else."""
    import keras

    epochs = callbacks.params.get("epochs")
    facts: dict[str, Any] = {"epochs": epochs}
    if isinstance(epochs, int):
        # One that is resumed counts on.
        facts["epochs"] = epochs - (fit.get("initial_epoch") or 0)
    stops = [one for one in callbacks.callbacks if isinstance(one, keras.callbacks.EarlyStopping)]
    has_loss = {"loss": True, "val_loss": fit.get("validation_data") is not None}
    if len(stops) == 1 and has_loss.get(stops[0].monitor) and stops[0].baseline is None:
        return facts | {"early_stop": max(int(stops[0].patience), 1)}
    if stops:
        facts["plan_source"] = f"at most epochs={epochs}"
    return facts


def is_compiled(model: Any) -> bool:
    """Whether the model's train function is compiled, so that nothing inside it can be timed."""
    if model.run_eagerly:
        return False
    return backend() == "tensorflow" or bool(model.jit_compile)


def learning_facts(optimizer: Any) -> dict[str, Any]:
    """The optimizer's kind, and its rate where that is a number."""
    facts: dict[str, Any] = {"optimizer": type(optimizer).__name__}
    rate: Any = getattr(optimizer, "_learning_rate", None)
    if hasattr(rate, "numpy"):
        facts["lr"] = f"{float(rate.numpy()):g}"
    return facts


def count_parameters(weights: Any) -> int:
    """Numbers that training changes."""
    return sum(math.prod(weight.shape) for weight in weights)


def device_facts(weights: Any) -> dict[str, Any]:
    """Where the weights are: `cpu`, `gpu:0`, or as torch calls it `cuda:0`; nothing where that is not known."""
    device = _device_of(weights[0]) if weights else None
    return {"device": device} if device else {}


def _device_of(weight: Any) -> str | None:
    value = getattr(weight, "value", None)
    value = weight if value is None or callable(value) else value
    if callable(getattr(value, "devices", None)):
        places = {f"{device.platform}:{device.id}" for device in value.devices()}
        name = places.pop() if len(places) == 1 else ""
    else:
        name = str(getattr(value, "device", "")).rpartition("device:")[2].lower()
    return "cpu" if name.startswith("cpu") else name or None


def record_weights(optimizer: Any) -> None:
    """An optimizer has updated: what it did not know of its weights before is recorded now."""
    training = _training.here.training
    if training.sizes.get(id(optimizer)) == 0:
        training.count_parameters(optimizer)
        _native.fit_update(device_facts(getattr(optimizer, "_trainable_variables", ())))
