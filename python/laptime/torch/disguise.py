"""Disguise: a function of ours that stands in a traceback as the one it replaces.

A hook that does what the original does, instead of calling it, saves a frame for every module of a model. When
the model fails, the script's traceback must read as it does without us.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType
from typing import Any

# Line, end line, column and end column of a call in the original's file.
Position = tuple[int, int, int, int]


def disguise(ours: Any, original: Any, calls: tuple[str, ...]) -> None:
    """Lets every line of ours that calls one of these methods read as the original's line that does.

    All other lines read as the last of them. An original that is written in another way leaves ours as it is.
    """
    places = {name: _position(original.__code__, name) for name in calls}
    known = {name: place for name, place in places.items() if place is not None}
    if len(known) == len(calls):
        ours.__code__ = ours.__code__.replace(
            co_filename=original.__code__.co_filename,
            co_name=original.__code__.co_name,
            co_qualname=original.__code__.co_qualname,
            co_firstlineno=original.__code__.co_firstlineno,
            co_linetable=bytes(_line_table(ours.__code__, original.__code__.co_firstlineno, known)),
        )


def _position(code: CodeType, method: str) -> Position | None:
    """Where a method is called."""
    found = None
    for step in dis.get_instructions(code):
        if step.argval == method:
            found = method
        elif found is not None and step.opname.startswith("CALL_FUNCTION"):
            place = step.positions
            if place is None or None in place:
                return None
            return place.lineno, place.end_lineno, place.col_offset, place.end_col_offset  # type: ignore[return-value]
    return None


def _line_table(code: CodeType, first_line: int, places: dict[str, Position]) -> Iterator[int]:
    """Locations of all instructions, in the long form of CPython's location table."""
    named = _named_lines(code, tuple(places))
    last = next(reversed(places))
    line_before = first_line
    for start, end, line in code.co_lines():
        place = places[named.get(line, last)]
        units = (end - start) // 2
        while units > 0:
            length = min(units, 8)
            units -= length
            yield 0x80 | 14 << 3 | length - 1
            yield from _signed(place[0] - line_before)
            yield from _varint(place[1] - place[0])
            yield from _varint(place[2] + 1)
            yield from _varint(place[3] + 1)
            line_before = place[0]


def _named_lines(code: CodeType, names: tuple[str, ...]) -> dict[int | None, str]:
    """Which of the methods each line calls."""
    named: dict[int | None, str] = {}
    for step in dis.get_instructions(code):
        if step.argval in names and step.positions is not None:
            named.setdefault(step.positions.lineno, step.argval)
    return named


def _signed(value: int) -> Iterator[int]:
    yield from _varint((-value << 1) | 1 if value < 0 else value << 1)


def _varint(value: int) -> Iterator[int]:
    while value >= 64:
        yield 0x40 | value & 0x3F
        value >>= 6
    yield value
