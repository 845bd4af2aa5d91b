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

__all__ = [
    "Batches",
    "Epochs",
    "Run",
    "Stage",
    "Summary",
    "batches",
    "epochs",
    "finish",
    "init",
    "lap",
    "load",
    "measured",
    "stage",
    "summary",
    "tensorboard",
]
