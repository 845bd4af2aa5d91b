"""The script's own clock: what each epoch took, told in a side file when the test asks for one.

It is read just before the recorder's and just after. With each epoch goes what may fall between the two
readings and is not the recorder's: how long the thread was ready and waited for a CPU, and how long Python
collected garbage.
"""

import gc
import json
import os
import time

_epochs: list[tuple[float, float]] = []
_elsewhere = [0.0, 0.0]
_collected = 0.0
_collecting = 0.0


def now() -> float:
    _elsewhere[:] = [_elsewhere[1], _waited_for_a_cpu() + _collected]
    return time.perf_counter()


def epoch_took(seconds: float) -> None:
    _epochs.append((seconds, _elsewhere[1] - _elsewhere[0]))
    path = os.environ.get("TRUTH_FILE")
    if path:
        with open(path, "w") as file:
            json.dump(_epochs, file)


def _waited_for_a_cpu() -> float:
    try:
        with open("/proc/thread-self/schedstat") as file:
            return int(file.read().split()[1]) * 1e-9
    except OSError:
        return 0.0


def _note_collection(phase: str, info: dict[str, int]) -> None:
    global _collected, _collecting
    if phase == "start":
        _collecting = time.perf_counter()
    else:
        _collected += time.perf_counter() - _collecting


gc.callbacks.append(_note_collection)
