"""The scripts' own clock: what each epoch took, told in a side file when the test asks for one.

It is read just before the recorder's and just after. With each epoch goes what may fall between the two
readings and is not the recorder's: how long the thread waited for a CPU though it was ready, how long it
was not on a CPU at all, and how long Python collected garbage.
"""

import atexit
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


def epoch_took(seconds: float) -> None:
    before, after = _readings
    _epochs.append({"took": seconds} | {name: after[name] - before[name] for name in after})


def _tell() -> None:
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
atexit.register(_tell)


def EpochClock(*, of_batches: bool = False):  # noqa: N802, ANN201
    """A callback that times the passes over the data, as tutorials do.

    Where a validation follows, Keras prepares it before any callback is told: then the last batch says what
    the pass took at least.
    """
    import keras

    class EpochClock(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):  # noqa: ANN001, ANN202
            self.began = now()
            self.open = True

        def end(self) -> None:
            if self.open:
                self.open = False
                epoch_took(now() - self.began)
                if of_batches:
                    _epochs[-1]["least"] = self.last - self.began

        def on_test_begin(self, logs=None):  # noqa: ANN001, ANN202
            self.end()

        def on_epoch_end(self, epoch, logs=None):  # noqa: ANN001, ANN202
            self.end()

    def on_train_batch_end(self, batch, logs=None):  # noqa: ANN001, ANN202
        self.last = time.perf_counter()

    if of_batches:
        EpochClock.on_train_batch_end = on_train_batch_end
    return EpochClock()
