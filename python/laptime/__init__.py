"""Training time, measured, predicted, reduced.

    import laptime

    augment = laptime.stage("augment")            # context manager and decorator in one
    for epoch in laptime.epochs(10):
        for batch in laptime.batches(loader):     # keeps len(), works on any iterable
            with augment:
                ...

Recording starts at the first use, or with `laptime run -- python train.py`. After that nothing here
raises, prints or changes what your program does; trouble is shown by `laptime report`.
"""

from laptime import tensorboard
from laptime._forms import Batches, Epochs, batches, epochs, stage
from laptime._native import Stage
from laptime._session import finish, init, lap, measured
from laptime.run import Run, Summary, load, summary

TYPE_CHECKING = False  # Type checkers know the name; importing `typing` costs 10 ms.
if TYPE_CHECKING:
    from laptime import image as image
    from laptime.loader import Loader as Loader


def __getattr__(name: str) -> object:
    # What only some trainings use is imported when they do.
    from importlib import import_module

    if name == "Loader":
        return import_module("laptime.loader").Loader
    if name == "image":
        return import_module("laptime.image")
    if name == "load_ipython_extension":
        return import_module("laptime.notebook").load_ipython_extension
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Batches",
    "Epochs",
    "Loader",
    "Run",
    "Stage",
    "Summary",
    "batches",
    "epochs",
    "finish",
    "image",
    "init",
    "lap",
    "load",
    "measured",
    "stage",
    "summary",
    "tensorboard",
]
