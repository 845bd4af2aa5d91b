"""Running: one loop of a frame with its instructions, and which of them a turn comes to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from .._loops import Loop
from . import variables
from .expression import Expression, Op, before, is_plain, ops_of, roots, stores
from .value import Unsure, evaluate

known_ops: dict[CodeType, list[Op]] = {}
# A script that trains a thousand times does so with the same few functions.
_MOST_KNOWN = 32


def _ops(code: CodeType) -> list[Op]:
    known = known_ops.get(code)
    if known is None:
        if len(known_ops) >= _MOST_KNOWN:
            known_ops.clear()
        known = known_ops[code] = ops_of(code)
    return known


class Running:
    """A loop of a frame, or its whole code, with the instructions."""

    def __init__(self, frame: FrameType, loop: Loop | None) -> None:
        self.frame = frame
        self.here = frame.f_lasti
        self.ops = _ops(frame.f_code)
        self.loop = loop or Loop(0, self.ops[-1].offset + 2, None)
        self.head = self.index_at(loop.start) if loop else -1

    @property
    def is_for_loop(self) -> bool:
        return self.ops[self.head].name == "FOR_ITER"

    def inside(self) -> Iterator[tuple[int, Op]]:
        """The instructions of the loop with their indices."""
        end = self.index_at(self.loop.end - 1) + 1
        return zip(range(max(self.head, 0), end), self.ops[max(self.head, 0) : end])

    def index_at(self, offset: int) -> int:
        """The index of the instruction at an offset, or of the one whose cache is there."""
        return max(bisect_right(self.ops, offset, key=_offset) - 1, 0)

    def is_stored(self, name: str) -> bool:
        return any(stores(op, name) for _, op in self.inside())

    def is_fixed_condition(self, jump: int) -> bool:
        """Whether what a jump depends on is the same in every turn."""
        compares = self.ops[jump - 1].name in ("COMPARE_OP", "IS_OP", "CONTAINS_OP")
        sides = before(self.ops, jump - 1, 2) if compares else before(self.ops, jump)
        if sides is None or not all(map(is_plain, sides)):
            return False
        return not any(self.is_stored(name) for side in sides for name in roots(side))

    def value(self, expression: Expression) -> Any:
        return evaluate(expression, variables.variables(self.frame, roots(expression)))

    def fixed(self, expression: Expression) -> Any:
        """A value that the loop does not change."""
        if any(self.is_stored(name) for name in roots(expression)):
            raise Unsure
        return self.value(expression)

    def following(self, index: int) -> list[int]:
        """Where an instruction can lead to; the way straight on is the first."""
        op = self.ops[index]
        ways = [] if op.name in _ENDS else [index + 1]
        if "JUMP" in op.name or op.name == "FOR_ITER":
            ways.append(self.index_at(op.value))
        return ways

    def turn_ends(self) -> set[int]:
        """The instructions that lead to the next turn of the loop, or end the function."""
        if self.head < 0:
            return {index for index, op in self.inside() if op.name in _RETURNS}
        return {index for index, _ in self.inside() if self.head in self.following(index)}

    def ways_out(self) -> set[int]:
        """The conditions on which the loop is left from within: by `break` or `return`, not by an error."""
        goes_on_from = self.leading_to(self.turn_ends()) | {self.head}
        leaves_from = self.leading_to({index for index, _ in self.inside() if self._leaves(index)})
        found = set()
        for index, op in self.inside():
            if is_condition(op):
                ends = [way for way in self.following(index) if way not in goes_on_from]
                if len(ends) == 1 and (ends[0] in leaves_from or self._is_outside(ends[0])):
                    found.add(index)
        return found

    def _leaves(self, index: int) -> bool:
        if self.ops[index].name in _RETURNS:
            return True
        return index != self.head and any(map(self._is_outside, self.following(index)))

    def _is_outside(self, index: int) -> bool:
        # What ends in an error lies behind the loop as well.
        return index < len(self.ops) and not self.loop.encloses(self.ops[index].offset)

    def leading_to(self, goals: set[int], avoided: int = -1) -> set[int]:
        """The instructions from which a turn can come to one of these without coming to another."""
        sources: dict[int, list[int]] = {}
        for index, _ in self.inside():
            for way in self.following(index):
                sources.setdefault(way, []).append(index)
        found: set[int] = set()
        waiting = [goal for goal in goals if goal != avoided]
        while waiting:
            index = waiting.pop()
            if index not in found:
                found.add(index)
                if index != self.head:  # What leads there is of the turn before.
                    waiting.extend(each for each in sources.get(index, ()) if each != avoided)
        return found


def _offset(op: Op) -> int:
    return op.offset


_RETURNS = frozenset({"RETURN_VALUE", "RETURN_CONST"})
_ENDS = _RETURNS | frozenset(
    ["JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "RAISE_VARARGS", "RERAISE"]
)


def guards(running: Running, at: int) -> set[int]:
    """The conditions that let one turn come to an instruction and another pass it by."""
    here = running.index_at(at)
    comes, passes = running.leading_to({here}), running.leading_to(running.turn_ends(), here)
    found = set()
    for index, op in running.inside():
        if is_condition(op):
            on, off = running.following(index)
            parts = (on in comes and off in passes) or (off in comes and on in passes)
            if parts and not running.is_fixed_condition(index):
                found.add(op.offset)
    return found


def is_condition(op: Op) -> bool:
    return "JUMP" in op.name and "_IF_" in op.name
