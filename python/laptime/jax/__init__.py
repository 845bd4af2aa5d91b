"""JAX without a line of code: jitted steps in loops that a script writes, and the wait for the device.

Attached by the start-up hook when JAX is imported. What Keras does inside `fit` is `laptime.keras`'. Inside a jitted
function nothing can be timed: a call of it is one stage, named like the function. That it trains is seen while JAX
traces it: it computes gradients. JAX returns before it has computed, so that the time of a step shows where the
script waits for its results, as `device_wait`.
"""

from __future__ import annotations

from .. import _frameworks, _guard, _own_passes, _training
from . import functions, waits


def attach() -> None:
    """Attaches every hook once; the run says what cannot attach."""
    _guard.attach_once(
        "jax",
        ("jax", _register),
        ("jax.vjp", functions.attach_gradients),
        ("jax.jit", functions.attach),
        ("jax.Array", waits.attach),
        ("jax.block_until_ready", waits.attach_function),
        ("laptime.Loader", _own_passes.attach),
    )


def _register() -> None:
    for package in ("jax", "flax", "optax"):
        _frameworks.register(package)
    _training.end_with_script()
