"""Loops: which `for` loop around an optimizer step counts the epochs, found from the code."""

from __future__ import annotations

import dis
import re
import sys
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType
from typing import Any

from ._frameworks import packages

# Frames looked through for the epoch loop; trainers written as classes are five to ten deep.
MOST_FRAMES = 32

# `epoch`, `n_epoch`, `current_epoch`, `ep`: a name that says what the loop counts.
_EPOCH_NAME = re.compile(r"epoch|^_?ep$", re.IGNORECASE)

# Reading `frame.f_locals` refreshes the dictionary that these hand out, which the user may have kept.
_HANDS_OUT_LOCALS = frozenset({"locals", "vars", "dir", "eval", "exec"})

# From 3.13 on `f_locals` is a view that reads one variable; before, it copies them all.
_LOCALS_ARE_A_VIEW = sys.version_info >= (3, 13)


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop of a code object: the bytes of its body, the variable that counts, and all it sets."""

    start: int
    end: int
    variable: str | None
    variables: tuple[str, ...] = ()

    def encloses(self, instruction: int) -> bool:
        return self.start <= instruction < self.end

    @property
    def counts_epochs(self) -> bool:
        return self.variable is not None and _EPOCH_NAME.search(self.variable) is not None


@dataclass(frozen=True, slots=True)
class Place:
    """An epoch loop as seen from an optimizer step: so many callers up, this loop of this code."""

    callers_up: int
    code: CodeType
    loop: Loop


_loops: dict[CodeType, tuple[Loop, ...]] = {}


def loops_of(code: CodeType) -> tuple[Loop, ...]:
    """The loops of a code object from the innermost; found once."""
    known = _loops.get(code)
    if known is None:
        known = _loops[code] = tuple(
            sorted(_find_loops(code), key=lambda loop: loop.end - loop.start)
        )
    return known


def forget() -> None:
    """Lets go of the code that was looked at."""
    _loops.clear()


def _find_loops(code: CodeType) -> list[Loop]:
    instructions = list(dis.get_instructions(code))
    heads = _heads(instructions)
    found: dict[int, Loop] = {}
    for at, step in enumerate(instructions):
        if step.opname == "FOR_ITER":
            names = _variables(instructions[at + 1 : at + 8])
            found[step.offset] = Loop(step.offset, step.argval, _counting(names), names)
        elif "JUMP_BACKWARD" in step.opname and step.argval not in heads:
            # A `while` loop: it has no variable, but a loop around it may count epochs.
            known = found.get(step.argval)
            end = step.offset + 2 if known is None else max(known.end, step.offset + 2)
            found[step.argval] = Loop(step.argval, end, None)
    return list(found.values())


def _heads(instructions: list[dis.Instruction]) -> set[int]:
    """Where `for` loops may be jumped to: a long one has prefixes before its head."""
    heads: set[int] = set()
    prefixes: list[int] = []
    for step in instructions:
        if step.opname == "EXTENDED_ARG":
            prefixes.append(step.offset)
            continue
        if step.opname == "FOR_ITER":
            heads.update(prefixes, (step.offset,))
        prefixes.clear()
    return heads


def _counting(names: tuple[str, ...]) -> str | None:
    """Of the variables that a loop sets the one named like an epoch, else the first."""
    return next((name for name in names if _EPOCH_NAME.search(name)), names[0] if names else None)


def _variables(targets: list[dis.Instruction]) -> tuple[str, ...]:
    names: list[str] = []
    left = 1
    for step in targets:
        if step.opname == "UNPACK_SEQUENCE":
            left += step.argval - 1
        elif step.opname.startswith("STORE_FAST_STORE_FAST"):
            names.extend(step.argval)
            left -= 2
        elif step.opname.startswith("STORE_FAST_LOAD_FAST"):
            names.append(step.argval[0])
            left -= 1
        elif step.opname in ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"):
            names.append(step.argval)
            left -= 1
        else:
            break
        if left <= 0:
            break
    return tuple(names)


def enclosing(frame: FrameType | None) -> list[tuple[int, FrameType, Loop]]:
    """The loops the calling frames stand in, from the innermost, with how many callers up each is."""
    found: list[tuple[int, FrameType, Loop]] = []
    for callers_up in range(MOST_FRAMES):
        if frame is None:
            break
        if not is_foreign(frame):
            at = frame.f_lasti
            loops = (loop for loop in loops_of(frame.f_code) if loop.encloses(at))
            found.extend((callers_up, frame, loop) for loop in loops)
        frame = frame.f_back
    return found


def position(frame: FrameType | None) -> tuple[int, ...]:
    """Where the calling frames stand: what was found out about their loops holds as long as they stand there."""
    found: list[int] = []
    while frame is not None and len(found) < 2 * MOST_FRAMES:
        found += (id(frame), frame.f_lasti)
        frame = frame.f_back
    return tuple(found)


def is_foreign(frame: FrameType | None) -> bool:
    """Whether a frame is a framework's: its loops are never the script's."""
    name = "" if frame is None else frame.f_globals.get("__name__", "")
    return str(name).partition(".")[0] in packages


def identity(frame: FrameType, loop: Loop) -> tuple[int, CodeType, int]:
    """Distinguishes one running loop from another for as long as its frame lives."""
    return (id(frame), frame.f_code, loop.start)


def identities(frame: FrameType | None) -> frozenset[Any]:
    """The loops that a frame stands in, distinguished for as long as they run."""
    return frozenset(identity(at, loop) for _, at, loop in enclosing(frame))


def epoch_place(
    frame: FrameType | None, around_creation: frozenset[Any], trained: tuple[type, ...] = ()
) -> Place | None:
    """The epoch loop around an optimizer step.

    A loop that encloses the creation of the optimizer (`around_creation`) repeats whole trainings, so it is
    none, unless its variable is named like an epoch; nor is one over things that are trained in turn, which
    are of the types `trained`.
    """
    loops = enclosing(frame)
    inside = [found for found in loops if identity(found[1], found[2]) not in around_creation]
    named = next((found for found in loops if found[2].counts_epochs), None)
    if named is not None and _is_repeated(named, inside):
        return None
    if named is None:
        named = inside[1] if len(inside) > 1 and inside[1][2].variable is not None else None
        if named is not None and _sets_any(named, trained):
            return None
    if named is None or not _may_read(named[1]):
        return None
    return Place(named[0], named[1].f_code, named[2])


def _is_repeated(
    epochs: tuple[int, FrameType, Loop], inside: list[tuple[int, FrameType, Loop]]
) -> bool:
    """Whether a loop around the epochs makes them again and again with the same optimizer.

    Such as an agent that trains some epochs on each new lot of experience: those are no laps of the training.
    """
    _, frame, loop = epochs
    around = [at.end - at.start for _, of, at in inside if of is frame]
    return any(length > loop.end - loop.start for length in around)


def _sets_any(found: tuple[int, FrameType, Loop], kinds: tuple[type, ...]) -> bool:
    """Whether a loop sets a variable to something of these kinds."""
    _, frame, loop = found
    if not kinds or not _may_read(frame):
        return False
    variables = frame.f_locals
    is_any = any(isinstance(variables.get(name), kinds) for name in loop.variables)
    _let_go(frame, variables)
    return is_any


def _may_read(frame: FrameType) -> bool:
    return not _copies_locals(frame) or not _uses_locals(frame.f_code)


def _uses_locals(code: CodeType) -> bool:
    """Whether the code calls something that hands out its variables; `model.eval()` does not."""
    if _HANDS_OUT_LOCALS.isdisjoint(code.co_names):
        return False
    names = (
        step for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    )
    return any(step.argval in _HANDS_OUT_LOCALS for step in names)


def _copies_locals(frame: FrameType) -> bool:
    """Whether reading a variable copies them all: in functions, before Python 3.13."""
    return not _LOCALS_ARE_A_VIEW and bool(frame.f_code.co_flags & CO_OPTIMIZED)


def epoch_now(frame: FrameType | None, place: Place) -> tuple[int, Any] | None:
    """Which turn of the epoch loop this is; `None` when the step is called from elsewhere."""
    for _ in range(place.callers_up):
        if frame is None:
            return None
        frame = frame.f_back
    if frame is None or frame.f_code is not place.code or not place.loop.encloses(frame.f_lasti):
        return None
    return (id(frame), _value(frame, place.loop.variable))


def _value(frame: FrameType, name: str | None) -> Any:
    """A variable of a frame, as something that can be kept: a number, or the identity of anything else.

    An identity is no number: it does not say whether a loop's variable went back.
    """
    variables: Any = frame.f_locals
    value = variables.get(name)
    _let_go(frame, variables)
    return value if type(value) in (int, str, float) else (id(value),)


def _let_go(frame: FrameType, variables: Any) -> None:
    """Empties a copy of the variables, which would keep the user's tensors alive."""
    # A debugger writes the copy back, so then it stays.
    if _copies_locals(frame) and sys.gettrace() is None:
        variables.clear()
