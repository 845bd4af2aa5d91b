"""The script's own clock: what each epoch took, told in a side file when the test asks for one.

It is read just before the recorder's and just after. With each epoch goes what may fall between the two
readings and is not the recorder's: how long the thread waited for a CPU though it was ready, how long it
was not on a CPU at all, and how long Python collected garbage.
"""

import gc
import json
import os
import time

_epochs: list[dict[str, float]] = []
_readings: list[dict[str, float]] = [{}, {}]
_collected = 0.0
_collecting = 0.0


def now() -> float:
    at = time.perf_counter()
    reading = {"ready": _ready(), "off": at - time.thread_time(), "collected": _collected}
    _readings[:] = [_readings[1], reading]
    return at


def epoch_took(seconds: float, **also: float) -> None:
    before, after = _readings
    passed = {name: after[name] - before[name] for name in after}
    _epochs.append({"took": seconds} | passed | also)
    path = os.environ.get("TRUTH_FILE")
    if path:
        with open(path, "w") as file:
            json.dump(_epochs, file)


def _ready() -> float:
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
