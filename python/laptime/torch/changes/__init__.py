"""What laptime can change in a PyTorch script that it runs: `docs/changes.md` has the list."""

from __future__ import annotations

from ... import _changes
from . import compute, copies, loaders, optimizers, repeat, threads

_NO_LOADER = "no DataLoader was made"
_NO_MODEL = "no module was trained"
_NO_OPTIMIZER = "no optimizer was made"


def attach() -> None:
    """Attaches what makes the changes that are asked for."""
    _changes.attach_each(
        dict.fromkeys(loaders.NAMES, (loaders.attach, _NO_LOADER))
        | dict.fromkeys(compute.NAMES, (compute.attach, _NO_MODEL))
        | dict.fromkeys(optimizers.NAMES, (optimizers.attach, _NO_OPTIMIZER))
        | {"repeat_batch": (repeat.attach, _NO_LOADER), "threads": (threads.attach, "")}
    )
    if _changes.switch("pin_memory"):
        copies.attach()
