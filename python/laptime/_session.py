"""The session: when this process starts and ends recording."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from laptime import _native
from laptime._native import lap as _native_lap

TYPE_CHECKING = False  # Type checkers know the name; importing `typing` costs 10 ms.
if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.util import Finalize

RUN_VARIABLE = "LAPTIME_RUN"

# What is called just before recording ends, while something can still be put on record.
before_end: list[Callable[[], object]] = []


class Settings:
    """How this process is recorded."""

    # Written out: `dataclasses` and `pathlib` would take half of the time an import may cost.
    __slots__ = ("dir", "disabled", "name", "quiet")

    def __init__(self, dir: str | None, name: str, quiet: bool, disabled: bool) -> None:
        self.dir = dir
        self.name = name
        self.quiet = quiet
        self.disabled = disabled


_settings: Settings | None = None
_pid = 0
"""The process that made the run; a forked child does not report its own end."""
_exported: str | None = None
_finished: str | None = None
"""The run that this process recorded last, once it has ended."""
_is_unkept = False
_finalizer: Finalize | None = None


def init(
    *,
    dir: str | os.PathLike[str] | None = None,
    name: str | None = None,
    quiet: bool | None = None,
    disabled: bool | None = None,
) -> bool:
    """Starts recording now; says whether this process is being recorded.

    Implicit at the first use of laptime. Arguments beat `LAPTIME_DIR`, `LAPTIME_NAME`, `LAPTIME_QUIET`
    and `LAPTIME_DISABLED`, which beat `[tool.laptime]` in pyproject.toml. A second call changes nothing.
    """
    global _settings
    if _settings is None or not _native.is_active():
        _settings = settings(dir, name, quiet, disabled)
    if _settings.disabled:
        return False
    return _start(_settings)


def ensure_armed() -> None:
    """Lets recording start with the first record, unless it has, or is off."""
    global _settings
    if _settings is None:
        _settings = settings()
        if not _settings.disabled:
            _stand_by()
            _native.arm(_options(_settings))
            if os.environ.get("LAPTIME_CHANGES"):
                from . import _changes  # noqa: F401


def ensure_started() -> bool:
    """Starts recording where it is wanted: a loop over epochs or batches is a training."""
    if _settings is None:
        return init()
    return not _settings.disabled and (_native.run_folder() is not None or _start(_settings))


def lap(name: str) -> None:
    """Books the time since the last lap on the stage with this name.

    The first lap counts from where the stage, epoch or batch around it began.
    """
    ensure_armed()
    sys.modules["laptime"].lap = _native_lap  # type: ignore[attr-defined]
    _native_lap(name)


def measured(metric: str, value: float) -> None:
    """Records how well the model does: `loss`, `accuracy`, `validation_loss` or `validation_accuracy`."""
    ensure_armed()
    try:
        _native.measured(metric, float(value))
    except (TypeError, ValueError):
        pass  # What is no number is not worth ending a training for.


def finish(status: str = "finished", message: str | None = None) -> str | None:
    """Ends recording; gives the run's folder, if there is one. Implicit at the end of the process."""
    global _exported, _finished
    if _exported is not None and os.environ.get(RUN_VARIABLE) == _exported:
        del os.environ[RUN_VARIABLE]
    _exported = None
    _before_end()
    folder = _native.finish(status, message)
    _finished = folder or _finished
    return folder


def run_folder() -> str | None:
    """The run this process records into, or recorded last; a forked child's is its parent's."""
    recorded = _native.run_folder() or _native.run_to_join()
    return recorded or os.environ.get(RUN_VARIABLE) or _finished


def why_not_recorded() -> str:
    """Says that there is no run, why, and what to do."""
    if (_settings or settings()).disabled:
        return "laptime: recording is off: LAPTIME_DISABLED or `disabled` in pyproject.toml says so"
    if _is_unkept:
        return "laptime: the folder of this run could not be made, so nothing of it can be shown"
    return (
        "laptime: nothing is recorded yet\n"
        "hint: start the script with `laptime run -- python train.py`, or loop over\n"
        "  `laptime.batches(loader)` or pass `laptime.keras.Callback()` to `fit` first"
    )


def settings(
    dir: str | os.PathLike[str] | None = None,
    name: str | None = None,
    quiet: bool | None = None,
    disabled: bool | None = None,
) -> Settings:
    """The settings in force, given these arguments.

    What beats what is decided for the command and the package alike in
    `crates/laptime-launch/src/settings.rs`.
    """
    # Whatever is passed where a text or a switch belongs must not end the training.
    text = None if name is None else str(name)
    switches = (None if value is None else bool(value) for value in (quiet, disabled))
    folder, text, is_quiet, is_disabled = _native.settings(dir, text, *switches)
    return Settings(folder, text or "", is_quiet, is_disabled)


def _start(settings: Settings) -> bool:
    global _exported, _is_unkept
    _stand_by()
    started = _native.start(_options(settings))
    folder = _native.run_folder()
    _is_unkept = started and folder is None
    if folder is not None and RUN_VARIABLE not in os.environ:
        # Processes that this one starts, such as spawned loader workers, join the run.
        os.environ[RUN_VARIABLE] = _exported = folder
    return started


def _options(settings: Settings) -> dict[str, object]:
    command = (
        [os.path.basename(sys.orig_argv[0]), *sys.orig_argv[1:]] if sys.orig_argv else sys.argv
    )
    return {"dir": settings.dir, "name": settings.name, "command": list(command)}


def _stand_by() -> None:
    """Makes sure that the end of this process, and of those it forks, is recorded."""
    global _pid
    if _pid:
        return
    _pid = os.getpid()
    gc.callbacks.append(_native.collected)
    atexit.register(_at_exit)
    os.register_at_fork(after_in_child=_in_child)
    if "multiprocessing" in sys.modules:
        _finish_with_multiprocessing()


def _in_child() -> None:
    global _exported
    _exported = None
    if "multiprocessing" in sys.modules:
        try:
            from multiprocessing.util import register_after_fork

            # It drops the finalizers of its parent next, and calls this then.
            register_after_fork(_finish_with_multiprocessing, _finish_with_multiprocessing)
        except Exception:  # A child that Python is ending needs none.
            pass


def _finish_with_multiprocessing(_: object = None) -> None:
    """Forked children of multiprocessing skip atexit, but run their finalizers."""
    global _finalizer
    from multiprocessing.util import Finalize

    _finalizer = Finalize(None, _finish_quietly, exitpriority=0)


def _finish_quietly() -> None:
    if os.getpid() != _pid:
        _before_end()
        _native.finish("finished", None)


def _before_end() -> None:
    for note in before_end:
        note()


def _at_exit() -> None:
    try:
        folder = finish(*_ending())
        if folder is not None and _speaks():
            shown = os.path.relpath(folder)
            shown = folder if shown.startswith("..") else shown
            sys.stderr.write(f"laptime: run kept in {shown}; `laptime report` shows it\n")
    except Exception:  # Standard error or the working directory may be gone.
        pass


def _speaks() -> bool:
    """Whether it is for this process to say where the run is."""
    is_quiet = _settings is None or _settings.quiet or sys.stderr is None
    first = os.getpid() == _pid and _native.rank() == 0
    return first and not is_quiet and RUN_VARIABLE not in os.environ


def _ending() -> tuple[str, str | None]:
    """How the interpreter ends, as far as it can be seen from inside."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if error is None:
        return "finished", None
    status = "killed" if isinstance(error, KeyboardInterrupt) else "failed"
    try:
        return status, f"{type(error).__name__}: {error}".rstrip(": ")
    except Exception:  # An error that cannot be put into words.
        return status, type(error).__name__
