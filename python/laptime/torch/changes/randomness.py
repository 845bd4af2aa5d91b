"""Randomness: the random numbers that follow, kept so that what failed can be done again as if it had not."""

from __future__ import annotations

import random
import sys
from typing import Any

import torch


class Randomness:
    """The states of the generators that a script draws from, as they are now."""

    __slots__ = ("_devices", "_generator", "_numpy", "_of_generator", "_python", "_torch")

    def __init__(self, generator: Any = None, *, devices: bool = False) -> None:
        self._generator = generator
        self._of_generator = None if generator is None else generator.get_state()
        self._torch = torch.get_rng_state()
        self._python = random.getstate()
        numpy = sys.modules.get("numpy")
        self._numpy = None if numpy is None else numpy.random.get_state()
        is_used = devices and torch.cuda.is_initialized()
        self._devices = torch.cuda.get_rng_state_all() if is_used else None

    def restore(self) -> None:
        """Lets the same numbers follow again."""
        if self._generator is not None:
            self._generator.set_state(self._of_generator)
        torch.set_rng_state(self._torch)
        random.setstate(self._python)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)
        if self._devices is not None:
            torch.cuda.set_rng_state_all(self._devices)
