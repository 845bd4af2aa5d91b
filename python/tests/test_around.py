"""The wrapper that hooks are made of leaves what it wraps as it is."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import pytest
from laptime import _guard, hooks


def halve(number: int) -> float:
    return number / 2 if number else 1 / number


def watched(begun: Any, *, fails: bool = False) -> tuple[Any, list[Any]]:
    """A function with hooks around it, and what they were called with."""
    seen: list[Any] = []

    def begin(args: Any, kwargs: Any) -> Any:
        seen.append((args, kwargs))
        if fails:
            raise LookupError("ours")
        return begun

    made = hooks.around(begin, lambda begun: seen.append(begun), lambda _: seen.append("failed"))
    return made(halve), seen


def test_the_end_gets_what_the_begin_gave() -> None:
    hooked, seen = watched(0)
    assert hooked(4) == 2 and seen == [((4,), {}), 0]
    hooked, seen = watched(None)
    assert hooked(number=4) == 2 and seen == [((), {"number": 4})]


def test_a_failure_reads_as_without_the_hook() -> None:
    hooked, seen = watched(1)
    with pytest.raises(ZeroDivisionError) as raised:
        hooked(0)
    assert seen[1:] == ["failed"]
    names = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert names[-1] == "halve" and "hooked" not in names


def test_a_begin_that_fails_leaves_the_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    troubles: set[str] = set()
    monkeypatch.setattr(_guard, "troubles", troubles)
    hooked, seen = watched(1, fails=True)
    assert hooked(4) == 2 and len(seen) == 1
    assert troubles == {"halve"}


def test_the_caller_is_who_called_the_hooked_function() -> None:
    frames: list[Any] = []

    def begin(args: Any, kwargs: Any) -> None:
        frames.append(hooks.safely(hooks.caller)())

    hooks.around(begin)(halve)(4)
    assert frames == [sys._getframe()]
    assert hooks.caller() is None
