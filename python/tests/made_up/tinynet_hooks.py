"""Hooks of the made-up framework: its fits, epochs, steps and waits, recorded without a line in the script."""

import tinynet
from laptime import hooks

_TRAIN = hooks.stage_id("train")


def attach() -> None:
    hooks.register("tinynet")
    hooks.attach("Line.fit", lambda: hooks.replace(tinynet.Line, "fit", _make_fit))
    hooks.attach("Line.train", _attach_train)


def _attach_train() -> None:
    hooks.replace(tinynet.Line, "train", hooks.around(_begin_train, hooks.exit))


def _make_fit(original):
    def fit(self, batches, epochs, *args, **kwargs):
        recorded = _begin(epochs)
        try:
            return original(self, _watched(batches, recorded), epochs, *args, **kwargs)
        except BaseException as error:
            hooks.hide_frame(error)
            raise
        finally:
            if recorded is not None:
                _end(recorded)

    return fit


@hooks.safely
def _begin(epochs):
    return hooks.Fit(framework="tinynet", label="Line", device="cpu", epochs=epochs)


@hooks.safely
def _end(recorded) -> None:
    recorded.end()


def _watched(batches, recorded):
    return batches if recorded is None else lambda: _epoch(batches(), recorded)


def _epoch(batches, recorded):
    recorded.begin_epoch()
    while True:
        recorded.request()
        try:
            batch = next(batches)
        except StopIteration:
            return recorded.end_epoch()
        recorded.arrived(len(batch))
        yield batch


def _begin_train(args, kwargs):
    hooks.enter(_TRAIN)
    return _TRAIN
