"""Measures repeats on a node, for as long as the worker of Ray lives that started it.

python -P -m laptime.ray.measuring PID_OF_THE_WORKER
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from laptime import _native

SET_PARENT_DEATH_SIGNAL = 1


def main() -> None:
    # A worker that Ray ends leaves without a word; the repeat is then interrupted as by `kill`.
    ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    os.environ["LAPTIME_PACKAGE"] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    os.environ["LAPTIME_PYTHON"] = sys.executable
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if os.getppid() == int(sys.argv[1]):
        _native.answer_repeats()


if __name__ == "__main__":
    main()
