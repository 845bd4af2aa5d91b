"""Probe: `torch.save` and `torch.jit.save`, which write below Python; attached only where `LAPTIME_PROBE` is set."""

from __future__ import annotations

import torch

from .._probe import hooked
from .._probe.libraries import method, reads, writes


def attach() -> None:
    """Leads what is written by path to the scratch folder."""
    # Everything that writes the new format by a path comes here: `torch.save`, Lightning, Hugging Face.
    method(torch.serialization._open_zipfile_writer_file, "__init__", writes("name", 1))
    hooked.replace(torch, "load", reads("f", 0))
    hooked.replace(torch.jit, "save", writes("f", 1))
    hooked.replace(torch.jit, "load", reads("f", 0))
