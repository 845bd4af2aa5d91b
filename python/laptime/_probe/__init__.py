"""Probe: what keeps a user's files as they are while `laptime predict` runs a script for some seconds.

`LAPTIME_PROBE` is a scratch folder. What the script writes goes there, and what it reads back comes from there; files
that were there before are not opened for writing, renamed or removed. Trackers run offline. Imported only when the
variable is set, before the script's first line, and in every Python that the script starts:

    files/…      what was written, by its absolute path
    opened.txt   files that were opened for writing where they are, one absolute path a line
    made.txt     folders that the script made, in their own place and empty; removed at its end
    failed.txt   what of this did not work, one line each; the script's own call was made instead
"""

from __future__ import annotations

import os

from . import files, hooked, trackers
from .overlay import Overlay

VARIABLE = "LAPTIME_PROBE"

overlay: Overlay | None = None


def attach() -> None:
    """Protects the user's files from this process; once."""
    global overlay
    scratch = os.environ.get(VARIABLE)
    if overlay is not None or not scratch:
        return
    made = Overlay(scratch)
    os.environ[VARIABLE] = made.root
    hooked.report_to(os.path.join(made.root, "failed.txt"))
    trackers.go_offline(made.root)
    files.attach(made)
    overlay = made
