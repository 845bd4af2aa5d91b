"""The clock of the torch scripts, and a callback that reads it for Keras."""

import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "torch" / "scripts"))

from clock import epoch_took, now


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
                least = {"least": self.last - self.began} if of_batches else {}
                epoch_took(now() - self.began, **least)

        def on_test_begin(self, logs=None):  # noqa: ANN001, ANN202
            self.end()

        def on_epoch_end(self, epoch, logs=None):  # noqa: ANN001, ANN202
            self.end()

    def on_train_batch_end(self, batch, logs=None):  # noqa: ANN001, ANN202
        self.last = time.perf_counter()

    if of_batches:
        EpochClock.on_train_batch_end = on_train_batch_end
    return EpochClock()
