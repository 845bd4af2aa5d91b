"""Changes: what laptime changes in a script that it runs, without editing it, so that two runs can be compared.

`LAPTIME_CHANGES` has what is asked for, such as `num_workers=2,pin_memory=1`. Each framework's `changes` makes the
ones it knows and says here what became of them. What took effect is a setting of every fit; what did not is a
warning of the run. Imported only when the variable is set.
"""

from __future__ import annotations

import functools
import gc
import os
import re
from collections.abc import Callable
from typing import Any

from . import _frameworks, _guard, _native, _session

VARIABLE = "LAPTIME_CHANGES"

_UNKNOWN = "nothing in this script can be changed in this way"

# What took effect, from what to what, and why something did not; both by name.
_applied: dict[str, tuple[Any, Any]] = {}
_refused: dict[str, str] = {}
# Why a change has had no effect so far: what it waits for has not come.
_awaited: dict[str, str] = {}
_withdrawn: set[str] = set()
_reported: set[str] = set()
# Whether this process has begun a fit: others have nothing to say.
_trains = False


def _parse(text: str) -> dict[str, str]:
    """The changes in a list such as `num_workers=2,gc=off`; what is malformed is left out."""
    pairs = (part.partition("=") for part in text.split(","))
    return {
        name.strip(): value.strip() for name, _, value in pairs if name.strip() and value.strip()
    }


_asked = _parse(os.environ.get(VARIABLE, ""))


def asked(name: str) -> str | None:
    """The value that is asked for, as text; of a change that was undone nothing is asked any more."""
    return None if name in _withdrawn else _asked.get(name)


def number(name: str) -> int | None:
    """The value that is asked for, where it is a whole number; another one is refused."""
    text = asked(name)
    if text is None:
        return None
    if text.isdecimal():
        return int(text)
    refused(name, "its value is no whole number")
    return None


def switch(name: str) -> bool | None:
    """The value that is asked for, where it is on or off; `None` when it is not asked for."""
    text = asked(name)
    return None if text is None else bool(_native.switched(text))


def is_on(name: str) -> bool:
    """Whether a change that can only be switched on is asked for; switched off it is refused."""
    found = switch(name)
    if found is False:
        refused(name, "it can only be switched on")
    return bool(found)


def awaits(name: str, because: str) -> None:
    """A framework knows this change; as long as nothing comes that it could be made to, this is why."""
    _awaited[name] = because


def applied(name: str, before: object, after: object) -> None:
    """A change took effect."""
    is_new = name not in _applied
    _applied[name] = (before, after)
    _refused.pop(name, None)
    if is_new and _native.fit_is_open():
        _native.fit_update(_facts())


def refused(name: str, because: str) -> None:
    """A change could not be made here; it may yet be made elsewhere, as to another loader."""
    if name in _asked:
        _refused.setdefault(name, because)


def withdrawn(name: str, because: str) -> None:
    """A change that was made turned out not to work, and is undone."""
    _withdrawn.add(name)
    _applied.pop(name, None)
    refused(name, because)
    if _native.fit_is_open():
        _native.fit_update(_facts())


def is_applied(name: str) -> bool:
    """Whether a change took effect in this process."""
    return name in _applied


def because_of(error: BaseException) -> str:
    """An error in one line; of one that a worker sent, with its traceback as text, the last that names an error."""
    lines = f"{type(error).__name__}: {error}".strip().splitlines()
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return (named[-1] if "Original Traceback" in str(error) else lines[0]).rstrip(": ")[:200]


def wrap(owner: Any, name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
    """Puts a function around an attribute, around a hook of ours as well."""
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(make(original)))


def attach_each(known: dict[str, tuple[Callable[[], None], str]]) -> None:
    """Attaches what makes the changes that are asked for: by name, how, and what each waits for."""
    attached = set()
    for name in _asked:
        if name not in known:
            continue
        attach, because = known[name]
        awaits(name, because)
        try:
            if attach not in attached:
                attached.add(attach)
                attach()
        except Exception as error:
            refused(name, because_of(error))


# Fits.


@_guard.safely
def _begin_fit() -> dict[str, Any]:
    """A fit begins: gives the changes made so far as its setting."""
    global _trains
    _trains = True
    _stop_collector()
    _report({name: why for name, why in _refused.items() if name not in _applied})
    return _facts() if _applied else {}


def _facts() -> dict[str, Any]:
    return {"changes": " ".join(f"{name}={_asked[name]}" for name in _asked if name in _applied)}


def _stop_collector() -> None:
    if asked("gc") is None or is_applied("gc"):
        return
    if switch("gc"):
        refused("gc", "it can only be switched off")
    elif not gc.isenabled():
        refused("gc", "the script has switched it off already")
    else:
        gc.disable()
        gc.freeze()
        applied("gc", "on", "off")
        # What is frozen at the end of the process would be reported as leaked by libraries that look for that.
        _session.before_end.append(gc.unfreeze)


# Warnings.


@_guard.safely
def _report_rest() -> None:
    """The process ends: what had no effect in it is a warning."""
    if _trains:
        _report(
            {
                name: _refused.get(name) or _awaited.get(name, _UNKNOWN)
                for name in _asked
                if name not in _applied
            }
        )


def _report(reasons: dict[str, str]) -> None:
    for name, because in reasons.items():
        if name not in _reported:
            _reported.add(name)
            _native.trouble(f"change {name}={_asked[name]}", because)


# Before a framework is loaded, whose thread pools read these.


def _limit_threads() -> None:
    threads = number("threads")
    if threads:
        for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ[variable] = str(threads)


def _in_child() -> None:
    global _trains
    _trains = False


@_guard.safely
def _attach() -> None:
    """Lets fits have the changes as a setting, and the run the warnings; before any framework is imported."""
    _frameworks.when_fit_begins.append(_begin_fit)
    _session.before_end.append(_report_rest)
    os.register_at_fork(after_in_child=_in_child)
    _limit_threads()
    awaits("gc", "no fit began")


_attach()
