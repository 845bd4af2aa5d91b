"""The script's own clock: what each epoch took, told in a side file when the test asks for one."""

import json
import os
import time

now = time.perf_counter
_epochs: list[float] = []


def epoch_took(seconds: float) -> None:
    _epochs.append(seconds)
    path = os.environ.get("TRUTH_FILE")
    if path:
        with open(path, "w") as file:
            json.dump(_epochs, file)
