"""Turns: how many a loop will make, by what it runs over or by the condition that ends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from . import variables
from .expression import (
    Attribute,
    Call,
    Constant,
    Expression,
    Name,
    Op,
    Sequence,
    before,
    is_plain,
    stores,
)
from .running import Running, guards, is_condition
from .value import Unsure, integer, sane

# What runs over its first argument, turn by turn.
_WRAPPERS = frozenset({"tqdm", "enumerate", "reversed", "list", "iter", "track", "progress_bar"})
_RANGES = frozenset({"range", "trange", "arange", "tnrange"})

Found = tuple[int, str]

# A loop with an early stop makes so many turns, or fewer.
AT_MOST = "at most "


# What a `for` loop runs over.


def count_turns(running: Running) -> Found | None:
    iterated = running.head - 1
    found = before(running.ops, iterated) if running.ops[iterated].name == "GET_ITER" else None
    try:
        turns, source = _length(running, found[0]) if found is not None else (0, "")
    except Unsure:
        return None
    return _bounded((turns, source), running, set()) if turns else None


def _length(running: Running, over: Expression, is_variable: bool = True) -> Found:
    """How many things an expression runs over, and the part of it that says so."""
    if isinstance(over, Sequence):
        return over.length, str(over)
    if isinstance(over, Call):
        given = [*over.arguments, *over.named.values()]
        if over.name in _RANGES:
            return _range(
                running, over, is_variable
            ), f"range({', '.join(map(str, over.arguments))})"
        if over.name in _WRAPPERS and given:
            # What is enumerated is not what the loop's variable is.
            return _length(running, given[0], is_variable and over.name != "enumerate")
        raise Unsure
    value = running.fixed(over)
    if type(value) in (list, tuple, range, dict, set, frozenset):
        source = f"a list of {len(value)}" if isinstance(over, Constant) else str(over)
        return sane(len(value)), source
    if "tqdm" in variables.kind_name(value):
        return sane(variables.attribute(value, "total")), str(over)
    raise Unsure


def _range(running: Running, call: Call, is_variable: bool) -> int:
    if not 1 <= len(call.arguments) <= 3:
        raise Unsure
    turns = range(*(integer(running.fixed(argument)) for argument in call.arguments))
    now = variables.own_variables(running.frame, {running.loop.variable or ""})
    if is_variable and any(type(value) is int and value not in turns for value in now.values()):
        raise Unsure  # It is not what the loop runs over, or was not when the loop began.
    return sane(len(turns))


# What ends a `while` loop.


@dataclass(frozen=True, slots=True)
class _Limit:
    """A loop ends once `counter` is at least `bound`, as seen at an instruction."""

    counter: Expression
    bound: int
    at: int
    source: str


def by_condition(limits: Iterable[_Limit], inner: Running, outer: Running) -> Found | None:
    """How often the inner loop turns until a limit is reached, one of its own or of a loop around it."""
    known: list[Found] = []
    own: set[int] = set()
    for limit in limits:
        try:
            known.append((_turns_to(limit, inner, outer), limit.source))
        except Unsure:
            continue
        own.add(outer.index_at(limit.at) + 1)
    return _bounded(min(known, key=_number), outer, own) if known else None


def _number(found: Found) -> int:
    return found[0]


def _bounded(found: Found, running: Running, own: set[int]) -> Found:
    """The number of turns, marked where the loop may also be left before on a condition that is not its own."""
    return at_most(found) if running.ways_out() - own else found


def at_most(found: Found) -> Found:
    """The number of turns, marked as a bound; once."""
    return found[0], AT_MOST + found[1].removeprefix(AT_MOST)


def limits_of(running: Running) -> Iterator[_Limit]:
    """Every `while counter < bound` and `if counter >= bound: break` of a loop."""
    goes_on_from = running.leading_to(running.turn_ends()) | {running.head}
    for index, op in running.inside():
        if op.name != "COMPARE_OP" or not is_condition(running.ops[index + 1]):
            continue
        jump, sides = running.ops[index + 1], before(running.ops, index, 2)
        goes_on, jumps_on = (way in goes_on_from for way in running.following(index + 1))
        if sides is None or goes_on == jumps_on:
            continue
        # The comparison's outcome with which the loop ends.
        ends_on = ("_IF_TRUE" in jump.name) == goes_on
        try:
            yield _limit(running, op, sides, ends_on)
        except Unsure:
            continue


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def _limit(running: Running, op: Op, sides: list[Expression], ends_on: bool) -> _Limit:
    left, right = sides
    sign, source = str(op.value), f"{left} {op.value} {right}"
    if not running.is_stored(counter_name(left)):
        left, right, sign = right, left, _MIRRORED.get(sign, "")
    ends = sign if ends_on else _OPPOSITE.get(sign, "")
    if ends not in (">", ">=", "==") or not is_plain(left):
        raise Unsure
    bound = integer(running.fixed(right))
    return _Limit(left, bound + 1 if ends == ">" else bound, op.offset, source)


def counter_name(counter: Expression) -> str:
    """The variable or attribute that a loop counts with."""
    return counter.name if isinstance(counter, (Name, Attribute)) else ""


def _turns_to(limit: _Limit, inner: Running, outer: Running) -> int:
    """From the turn under way, taken for the first, to the one that reaches the limit."""
    counted_at, by = _counting(limit, inner, outer)
    if guards(inner, counted_at) != guards(inner, inner.here):
        raise Unsure  # It counts something else.
    begin = integer(inner.value(limit.counter)) - (by if counted_at < inner.here else 0)
    at_check = begin + (by if counted_at < limit.at else 0)
    last = max(-((at_check - limit.bound) // by), 0) + 1
    return sane(last if inner.here < limit.at else last - 1)


def _counting(limit: _Limit, inner: Running, outer: Running) -> tuple[int, int]:
    """Where in the inner loop a counter is counted up, and by how much."""
    name = counter_name(limit.counter)
    if name == inner.loop.variable:
        if inner.loop != outer.loop or not _has_no_end(inner):
            raise Unsure
        return inner.loop.start, 1
    found = [(i, op) for i, op in outer.inside() if stores(op, name)]
    if len(found) != 1 or not inner.loop.encloses(found[0][1].offset):
        raise Unsure  # Set anew somewhere, or not once a turn.
    index, op = found[0]
    end = (
        index - 1 if op.name == "STORE_ATTR" else index
    )  # An attribute's owner is swapped to the top.
    read, amount, add = inner.ops[end - 3 : end]
    if (
        add.name != "BINARY_OP"
        or add.value != "+"
        or amount.name != "LOAD_CONST"
        or read.value != name
    ):
        raise Unsure
    return op.offset, sane(amount.value)


def _has_no_end(running: Running) -> bool:
    """Whether a `for` loop runs over `itertools.count`."""
    found = before(running.ops, running.head - 1)
    return found is not None and isinstance(found[0], Call) and found[0].name == "count"
