"""What laptime can change in a Keras script that it runs: `docs/changes.md` has the list."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

import keras

from .. import _changes, _guard
from . import facts as keras_facts
from . import fit as keras_fit
from . import here

_NO_FIT = "no Model.fit was called"
_HAS_IT = "the script does so already"

_AT_FIT = (
    "jit_compile",
    "steps_per_execution",
    "validation_freq",
    "workers",
    "prefetch",
    "cache",
    "repeat_batch",
)
_POLICY = "mixed_bfloat16"
# Looked for instead of asked: no backend is to be started by an import.
_GPU_DRIVERS = ("/dev/nvidiactl", "/dev/kfd")
_PER_BATCH = ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end")

# Arguments of a `fit` by name, those left out by their default.
_Arguments = dict[str, Any]


def attach() -> None:
    """Attaches what makes the changes that are asked for."""
    known = dict.fromkeys(_AT_FIT, (_attach_fit, _NO_FIT))
    _changes.attach_each(known | {"mixed_precision": (_set_policy, _NO_FIT)})


# Precision: a policy is taken by layers as they are made, so it is set when Keras is imported.


def _set_policy() -> None:
    if _changes.asked("mixed_precision") != "bf16":
        return _changes.refused("mixed_precision", "only bf16 is known")
    if not any(os.path.exists(path) for path in _GPU_DRIVERS):
        # A virtual machine may say that its CPU has bf16 and kill whoever uses it.
        return _changes.refused("mixed_precision", "no GPU")
    keras.config.set_dtype_policy(_POLICY)
    _attach_fit()
    for name in ("predict", "predict_on_batch"):
        _changes.wrap(keras.Model, name, _make_predict)


def _check_policy(model: Any) -> None:
    if _changes.asked("mixed_precision") is None or _changes.is_applied("mixed_precision"):
        return
    if any(layer.dtype_policy.name == _POLICY for layer in model._flatten_layers()):
        _changes.applied("mixed_precision", "float32", "bf16")
    else:
        _changes.refused("mixed_precision", "the layers have a policy of their own")


def _make_predict(original: Callable[..., Any]) -> Callable[..., Any]:
    def predict(*args: Any, **kwargs: Any) -> Any:
        return _in_float32(original(*args, **kwargs))

    return predict


def _in_float32(values: Any) -> Any:
    """What the script reads is of the type that it was."""
    return keras.tree.map_structure(
        lambda value: value.astype("float32") if str(value.dtype) == "bfloat16" else value, values
    )


# Fits.


_is_attached = False


def _attach_fit() -> None:
    global _is_attached
    if not _is_attached:
        _is_attached = True
        _changes.wrap(keras.Model, "fit", _make_fit)
        keras_fit.recover = _recover


def _make_fit(original: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    def fit(*args: Any, **kwargs: Any) -> Any:
        # A fit inside a fit is a framework's own.
        changed = _change(signature, args, kwargs) if here.fit is None else None
        try:
            if changed is None:
                return original(*args, **kwargs)
            # The model by its place, where the hook around `fit` looks for it.
            return original(changed.pop("self"), **changed)
        except BaseException as error:
            _guard.hide_frame(error)
            raise

    return fit


@_guard.safely
def _change(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> _Arguments | None:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        # Not for us to report.
        return None
    given = dict(bound.arguments)
    if "kwargs" in given or "args" in given:
        # A model with a `fit` of its own.
        return None
    model = given["self"]
    _check_policy(model)
    _change_compiled(model, given)
    return given | _changed_validation(given) | _changed_data(given)


# What a model is compiled with; the same attributes as `Model.compile` sets.


def _change_compiled(model: Any, given: _Arguments) -> None:
    if not model.compiled:
        return
    changed = _jit(model)
    changed |= _steps_per_execution(model, given)
    for name, value in changed.items():
        _changes.applied(name, getattr(model, name), value)
        setattr(model, name, value)
    if changed:
        # Made again with what they have now.
        model.train_function = model.test_function = model.predict_function = None


def _jit(model: Any) -> dict[str, Any]:
    if not _changes.is_on("jit_compile"):
        return {}
    from keras.src.trainers.trainer import model_supports_jit

    if model.run_eagerly:
        because = "the model runs eagerly"
    elif keras_facts.backend() == "torch":
        because = "on torch another compiler would be used"
    elif model.jit_compile:
        because = _HAS_IT
    elif not model_supports_jit(model):
        because = "a layer of the model cannot be compiled"
    else:
        return {"jit_compile": True}
    if not _changes.is_applied("jit_compile"):
        _changes.refused("jit_compile", because)
    return {}


def _steps_per_execution(model: Any, given: _Arguments) -> dict[str, Any]:
    steps = _changes.number("steps_per_execution")
    if steps is None or _changes.is_applied("steps_per_execution"):
        return {}
    if steps == model.steps_per_execution:
        because = _HAS_IT
    elif steps == 0:
        because = "at least one step is needed"
    elif model.run_eagerly:
        because = "the model runs eagerly"
    elif any(_sees_batches(one) for one in _callbacks(given)):
        because = "a callback is called after every batch"
    else:
        return {"steps_per_execution": steps}
    _changes.refused("steps_per_execution", because)
    return {}


def _callbacks(given: _Arguments) -> list[Any]:
    found = given.get("callbacks") or []
    found = getattr(found, "callbacks", found)
    return list(found) if isinstance(found, (list, tuple)) else [found]


def _sees_batches(callback: Any) -> bool:
    """Whether a callback of the script's own does something at every batch."""
    kind, plain = type(callback), keras.callbacks.Callback
    if kind.__module__.startswith(("keras.", "laptime.")):
        # Keras' own reckon with several steps at once; of a lambda nobody knows.
        return kind.__name__ == "LambdaCallback"
    return any(getattr(kind, name, None) is not getattr(plain, name) for name in _PER_BATCH)


def _recover(model: Any, error: BaseException) -> bool:
    """Undoes a compilation that fails when a step is first computed; says whether there was one."""
    ends = isinstance(error, StopIteration) or not isinstance(error, Exception)
    if ends or not _changes.is_applied("jit_compile"):
        return False
    _changes.withdrawn("jit_compile", f"the step failed with it: {_changes.because_of(error)}")
    model.jit_compile = False
    return True


# What `fit` is given.


def _changed_validation(given: _Arguments) -> _Arguments:
    every = _changes.number("validation_freq")
    if every is None:
        return {}
    if given.get("validation_data") is None and not given.get("validation_split"):
        because = "fit has no validation data"
    elif given.get("validation_freq", 1) == every:
        because = _HAS_IT
    elif every == 0:
        because = "it begins with 1"
    elif any(str(getattr(one, "monitor", "")).startswith("val_") for one in _callbacks(given)):
        because = "a callback needs the validation of every epoch"
    else:
        _changes.applied("validation_freq", given.get("validation_freq", 1), every)
        return {"validation_freq": every}
    _changes.refused("validation_freq", because)
    return {}


def _changed_data(given: _Arguments) -> _Arguments:
    data = given.get("x")
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and isinstance(data, tensorflow.data.Dataset):
        from ..tensorflow import changes

        _changes.refused("workers", "the data is a tf.data")
        return {"x": changes.changed(data, given.get("steps_per_epoch"))}
    if isinstance(data, keras.utils.PyDataset):
        _refuse_data("the data is a PyDataset", "prefetch", "cache")
        return {"x": _changed_py_dataset(data)}
    _refuse_data("the data is neither a tf.data nor a PyDataset", *_AT_FIT[3:])
    return {}


def _refuse_data(because: str, *names: str) -> None:
    for name in names:
        _changes.refused(name, because)


def _changed_py_dataset(data: Any) -> Any:
    workers = _changes.number("workers")
    if workers is not None:
        if data.workers == workers:
            _changes.refused("workers", _HAS_IT)
        else:
            _changes.applied("workers", data.workers, workers)
            data.workers = workers
    if not _changes.switch("repeat_batch"):
        return data
    if data.num_batches is None:
        _changes.refused("repeat_batch", "the number of batches is not known")
        return data
    _changes.applied("repeat_batch", 0, 1)
    return _Repeated(data)


class _Repeated(keras.utils.PyDataset):
    """The first batch of a dataset, again and again."""

    def __init__(self, data: Any) -> None:
        super().__init__()
        self._data = data
        self._first: Any = None

    def __len__(self) -> int:
        return self._data.num_batches  # type: ignore[no-any-return]

    def __getitem__(self, at: int) -> Any:
        if self._first is None:
            self._first = self._data[0]
        return self._first

    def on_epoch_begin(self) -> None:
        self._data.on_epoch_begin()

    def on_epoch_end(self) -> None:
        self._data.on_epoch_end()
