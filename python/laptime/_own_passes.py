"""Own passes: passes over laptime's own Loader, which reports its batches to the recorder itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import _frameworks, _guard, _native
from ._native import end_wait
from ._passes import Ticket, begin_pass, exhaust_pass, owned
from ._training import here
from .loader import Loader


def attach() -> None:
    """Hooks passes over a Loader; called by every framework whose loops the script writes."""
    _guard.attach_once("laptime", ("laptime.Loader", _attach))


def _attach() -> None:
    _frameworks.register("laptime", data=(Loader, loader_facts))
    _guard.replace(Loader, "__iter__", _make_iter)


def loader_facts(loader: Loader) -> dict[str, Any]:
    """What a loader says of a fit."""
    return {
        "loader": "laptime.Loader",
        "rows": loader.rows,
        "steps_per_epoch": len(loader),
        "batch": loader.batch_size,
    }


def _make_iter(original: Callable[..., Any]) -> Callable[..., Any]:
    def __iter__(self: Any) -> Any:
        if owned.depth:
            # The pass belongs to the `fit` of a framework.
            return original(self)
        ticket = begin_pass(self)
        try:
            batches = original(self)
        except BaseException as error:
            _guard.hide_frame(error)
            raise
        finally:
            if ticket is not None:
                end_wait()
        _record(batches, ticket)
        return batches

    return __iter__


@_guard.safely
def _record(batches: Any, ticket: Ticket | None) -> None:
    """Has every wait and every batch of a pass put on record."""
    if ticket is not None:
        # Those on a device are copied from the ones that threads of ours have loaded.
        loaded = getattr(batches, "loaded", batches)
        loaded.record(ticket, exhaust_pass, _interrupt)
        _native.iterate(ticket.pass_id, loaded)


@_guard.safely
def _interrupt() -> None:
    """A batch is requested while another pass trains: an evaluation interrupts its step."""
    torch = sys.modules.get("torch")
    if torch is not None and (not torch.is_grad_enabled() or here.training.in_eval_mode()):
        _native.interrupt_step()
