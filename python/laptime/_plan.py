"""The plan of a training: how many epochs or steps there will be, and where that is known from.

It is in what the loop runs over (`range(args.epochs)`), in the condition that ends it (`while step < max_steps`)
or in a variable with a telling name. Nothing of the user's code is run to find out, and what is not sure is `None`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType
from typing import Any

from . import _loops, _values
from ._expression import (
    Arithmetic,
    Attribute,
    Call,
    Constant,
    Expression,
    Item,
    Name,
    Op,
    Sequence,
    before,
    is_plain,
    ops_of,
    roots,
    stores,
)
from ._loops import Loop, Place


@dataclass(frozen=True, slots=True)
class Plan:
    """How many epochs or steps a fit will have, and the code that says so."""

    epochs: int | None
    steps: int | None
    source: str


EPOCH_NAMES = frozenset(
    [
        "epochs",
        "num_epochs",
        "n_epochs",
        "nb_epochs",
        "nb_epoch",
        "max_epochs",
        "total_epochs",
        "num_train_epochs",
        "train_epochs",
        "training_epochs",
    ]
)
STEP_NAMES = frozenset(
    [
        "max_steps",
        "max_iters",
        "max_iterations",
        "num_steps",
        "num_iters",
        "num_iterations",
        "num_train_steps",
        "max_train_steps",
        "total_steps",
        "total_iters",
        "train_steps",
        "training_steps",
        "n_iter",
        "n_iters",
        "n_iterations",
    ]
)
# Objects that hold settings.
HOLDERS = frozenset(
    [
        "args",
        "opt",
        "opts",
        "options",
        "flags",
        "config",
        "conf",
        "cfg",
        "hparams",
        "hp",
        "params",
        "settings",
        "training_args",
        "self",
        "trainer",
    ]
)

# A turn of such a loop is a move in an environment, which need not be an update.
_NOT_STEPS = ("timestep", "time_step", "frame", "episode", "env")

# What runs over its first argument, turn by turn.
_WRAPPERS = frozenset({"tqdm", "enumerate", "reversed", "list", "iter", "track", "progress_bar"})
_RANGES = frozenset({"range", "trange", "arange", "tnrange"})

# More turns than anyone waits for: a bound that means "until something else ends it".
_ENDLESS = 10**10


class _Unsure(Exception):
    """Something is not plainly there."""


Found = tuple[int, str]


def of_epochs(
    frame: FrameType | None, place: Place | None, around_birth: frozenset[Any] = frozenset()
) -> Plan | None:
    """How many epochs the loop around this frame will make.

    `place` is the epoch loop where that is known; else the loop around the innermost one is taken for it,
    unless it encloses the making of the optimizer (`around_birth`) and so repeats whole trainings.
    """
    found = _quietly(
        lambda: _epochs_by_loop(frame, place, around_birth) or _by_name(frame, EPOCH_NAMES)
    )
    return None if found is None else Plan(found[0], None, found[1])


def of_steps(frame: FrameType | None, around_birth: frozenset[Any] = frozenset()) -> Plan | None:
    """How many steps the loop around this frame will make, in a training without epochs."""
    found = _quietly(lambda: _steps(frame, _outside(frame, around_birth)))
    return None if found is None else Plan(None, found[0], found[1])


def _quietly(look: Callable[[], Found | None]) -> Found | None:
    try:
        return look()
    except Exception:  # Whatever the program looks like, it comes first.
        return None


def forget() -> None:
    """Lets go of the code that was looked at."""
    _known_ops.clear()


def _outside(frame: FrameType | None, around_birth: frozenset[Any]) -> list[tuple[FrameType, Loop]]:
    """The loops around a frame from the innermost, without those that repeat whole trainings."""
    loops = [(at, loop) for _, at, loop in _loops.enclosing(frame)]
    repeated = [found for found in loops if _loops.identity(*found) not in around_birth]
    # A long `for` loop is found once more as a `while` loop around it.
    return [found for found in repeated if found[1].variable or not _Running(*found).is_for_loop]


# Epochs.


def _epochs_by_loop(
    frame: FrameType | None, place: Place | None, around_birth: frozenset[Any]
) -> Found | None:
    if place is not None:
        at = _frame_of(frame, place)
        return None if at is None else _turns(_Running(at, place.loop))
    for at, loop in _epoch_candidates(frame, around_birth):
        if (found := _turns(_Running(at, loop))) is not None:
            return found
    return None


def _turns(running: _Running) -> Found | None:
    """How many turns a loop makes: what it runs over, else the condition on its epochs that ends it."""
    if running.loop.variable is not None and (found := _counted(running)) is not None:
        return found
    own = running.loop.variable or ""
    limits = [
        limit
        for limit in _limits(running)
        if counter_name(limit.counter) == own
        or _loops._EPOCH_NAME.search(counter_name(limit.counter))
    ]
    return _by_condition(limits, running, running)


def _frame_of(frame: FrameType | None, place: Place) -> FrameType | None:
    """The frame that runs the loop of a place: this one or a caller."""
    for _ in range(_loops.MOST_FRAMES):
        if frame is None:
            return None
        if frame.f_code is place.code and place.loop.encloses(frame.f_lasti):
            return frame
        frame = frame.f_back
    return None


def _epoch_candidates(
    frame: FrameType | None, around_birth: frozenset[Any]
) -> list[tuple[FrameType, Loop]]:
    named = [(at, loop) for _, at, loop in _loops.enclosing(frame) if loop.counts_epochs]
    return named[:1] or _outside(frame, around_birth)[1:2]


# Steps.


def _steps(frame: FrameType | None, loops: list[tuple[FrameType, Loop]]) -> Found | None:
    if frame is None:
        return None
    found = _steps_by_loop(frame, loops) if loops else _by_name(frame, STEP_NAMES)
    is_other = found is not None and any(word in found[1].lower() for word in _NOT_STEPS)
    return None if is_other else found


def _steps_by_loop(frame: FrameType, loops: list[tuple[FrameType, Loop]]) -> Found | None:
    inner = _Running(*loops[0])
    if not _calls_always(inner, frame):
        return None
    beside = [_Running(at, loop) for at, loop in loops if at is inner.frame]
    limits = (limit for running in beside for limit in _limits(running))
    found = _by_condition(limits, inner, beside[-1])
    # With loops in loops a name may count the turns of another one, and not every turn need be a step.
    if found is not None or len(loops) > 1 or _guards(inner, inner.here):
        return found
    counted = _counted(inner) if inner.loop.variable is not None else None
    return counted or _by_name(frame, STEP_NAMES)


def _calls_always(running: _Running, frame: FrameType) -> bool:
    """Whether the functions that a loop's turn called always come to this frame's call."""
    at: FrameType | None = frame
    while at is not None and at is not running.frame:
        if not _loops.is_foreign(at) and _guards(_Running(at, None), at.f_lasti):
            return False
        at = at.f_back
    return at is not None


def _guards(running: _Running, at: int) -> set[int]:
    """The conditions that let one turn come to an instruction and another pass it by."""
    here = running.index_at(at)
    comes, passes = running.leading_to({here}), running.leading_to(running.turn_ends(), here)
    found = set()
    for index, op in running.inside():
        if _is_condition(op):
            on, off = running.following(index)
            parts = (on in comes and off in passes) or (off in comes and on in passes)
            if parts and not running.is_fixed_condition(index):
                found.add(op.offset)
    return found


def _is_condition(op: Op) -> bool:
    return "JUMP" in op.name and "_IF_" in op.name


# One loop that runs.


_known_ops: dict[CodeType, list[Op]] = {}
# A script that trains a thousand times does so with the same few functions.
_MOST_KNOWN = 32


def _ops(code: CodeType) -> list[Op]:
    known = _known_ops.get(code)
    if known is None:
        if len(_known_ops) >= _MOST_KNOWN:
            _known_ops.clear()
        known = _known_ops[code] = ops_of(code)
    return known


class _Running:
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
        return _value(expression, _values.variables(self.frame, roots(expression)))

    def fixed(self, expression: Expression) -> Any:
        """A value that the loop does not change."""
        if any(self.is_stored(name) for name in roots(expression)):
            raise _Unsure
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


# What a `for` loop runs over.


def _counted(running: _Running) -> Found | None:
    asks = running.head - 1
    found = before(running.ops, asks) if running.ops[asks].name == "GET_ITER" else None
    try:
        return None if found is None else _length(running, found[0])
    except _Unsure:
        return None


def _length(running: _Running, over: Expression, is_variable: bool = True) -> Found:
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
        raise _Unsure
    value = running.fixed(over)
    if type(value) in (list, tuple, range, dict, set, frozenset):
        source = f"a list of {len(value)}" if isinstance(over, Constant) else str(over)
        return _sane(len(value)), source
    if "tqdm" in _values.kind_name(value):
        return _sane(_values.attribute(value, "total")), str(over)
    raise _Unsure


def _range(running: _Running, call: Call, is_variable: bool) -> int:
    if not 1 <= len(call.arguments) <= 3:
        raise _Unsure
    turns = range(*(_integer(running.fixed(argument)) for argument in call.arguments))
    now = _values.own_variables(running.frame, {running.loop.variable or ""})
    if is_variable and any(type(value) is int and value not in turns for value in now.values()):
        raise _Unsure  # It is not what the loop runs over, or was not when the loop began.
    return _sane(len(turns))


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise _Unsure
    return value


def _sane(turns: Any) -> int:
    if not 0 < _integer(turns) < _ENDLESS:
        raise _Unsure
    return turns


# What ends a `while` loop.


@dataclass(frozen=True, slots=True)
class _Limit:
    """A loop ends once `counter` is at least `bound`, as seen at an instruction."""

    counter: Expression
    bound: int
    at: int
    source: str


def _by_condition(limits: Iterable[_Limit], inner: _Running, outer: _Running) -> Found | None:
    """How often the inner loop turns until a limit is reached, one of its own or of a loop around it."""
    for limit in limits:
        try:
            return _turns_to(limit, inner, outer), limit.source
        except _Unsure:
            continue
    return None


def _limits(running: _Running) -> Iterator[_Limit]:
    """Every `while counter < bound` and `if counter >= bound: break` of a loop."""
    goes_on_from = running.leading_to(running.turn_ends()) | {running.head}
    for index, op in running.inside():
        if op.name != "COMPARE_OP" or not _is_condition(running.ops[index + 1]):
            continue
        jump, sides = running.ops[index + 1], before(running.ops, index, 2)
        goes_on, jumps_on = (way in goes_on_from for way in running.following(index + 1))
        if sides is None or goes_on == jumps_on:
            continue
        # The comparison's outcome with which the loop ends.
        ends_on = ("_IF_TRUE" in jump.name) == goes_on
        try:
            yield _limit(running, op, sides, ends_on)
        except _Unsure:
            continue


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def _limit(running: _Running, op: Op, sides: list[Expression], ends_on: bool) -> _Limit:
    left, right = sides
    sign, source = str(op.value), f"{left} {op.value} {right}"
    if not running.is_stored(counter_name(left)):
        left, right, sign = right, left, _MIRRORED.get(sign, "")
    ends = sign if ends_on else _OPPOSITE.get(sign, "")
    if ends not in (">", ">=", "==") or not is_plain(left):
        raise _Unsure
    bound = _integer(running.fixed(right))
    return _Limit(left, bound + 1 if ends == ">" else bound, op.offset, source)


def counter_name(counter: Expression) -> str:
    """The variable or attribute that a loop counts with."""
    return counter.name if isinstance(counter, (Name, Attribute)) else ""


def _turns_to(limit: _Limit, inner: _Running, outer: _Running) -> int:
    """From the turn under way, taken for the first, to the one that reaches the limit."""
    counted_at, by = _counting(limit, inner, outer)
    if _guards(inner, counted_at) != _guards(inner, inner.here):
        raise _Unsure  # It counts other things than what is asked for.
    begin = _integer(inner.value(limit.counter)) - (by if counted_at < inner.here else 0)
    at_check = begin + (by if counted_at < limit.at else 0)
    last = max(-((at_check - limit.bound) // by), 0) + 1
    return _sane(last if inner.here < limit.at else last - 1)


def _counting(limit: _Limit, inner: _Running, outer: _Running) -> tuple[int, int]:
    """Where in the inner loop a counter is counted up, and by how much."""
    name = counter_name(limit.counter)
    if name == inner.loop.variable:
        if inner.loop != outer.loop or not _has_no_end(inner):
            raise _Unsure
        return inner.loop.start, 1
    found = [(i, op) for i, op in outer.inside() if stores(op, name)]
    if len(found) != 1 or not inner.loop.encloses(found[0][1].offset):
        raise _Unsure  # Set anew somewhere, or not once a turn.
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
        raise _Unsure
    return op.offset, _sane(amount.value)


def _has_no_end(running: _Running) -> bool:
    """Whether a `for` loop runs over `itertools.count`."""
    found = before(running.ops, running.head - 1)
    return found is not None and isinstance(found[0], Call) and found[0].name == "count"


# Values.


def _value(expression: Expression, variables: dict[str, Any]) -> Any:
    """What an expression is now, without running any code of the user's."""
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Name):
        found = variables.get(expression.name, _values.UNKNOWN)
    elif isinstance(expression, Attribute):
        found = _values.attribute(_value(expression.of, variables), expression.name)
    elif isinstance(expression, Item):
        found = _values.item(_value(expression.of, variables), _value(expression.key, variables))
    elif isinstance(expression, Arithmetic):
        return _result(expression, variables)
    elif isinstance(expression, Call):
        return _call(expression, variables)
    else:
        raise _Unsure
    if found is _values.UNKNOWN:
        raise _Unsure
    return found


_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "//": lambda left, right: left // right,
    "/": lambda left, right: left / right,
    "%": lambda left, right: left % right,
}


def _result(expression: Arithmetic, variables: dict[str, Any]) -> Any:
    sides = [_value(side, variables) for side in (expression.left, expression.right)]
    if expression.sign not in _SIGNS or any(type(side) not in (int, float) for side in sides):
        raise _Unsure
    return _SIGNS[expression.sign](*sides)


_SIZED = (list, tuple, range, dict, str)


def _call(expression: Call, variables: dict[str, Any]) -> Any:
    """`int`, `len`, `min` and `max` of plain values."""
    if not isinstance(expression.function, Name) or expression.named:
        raise _Unsure
    known: dict[str, Any] = {"int": int, "len": len, "min": min, "max": max}
    name = expression.function.name
    given = [_value(argument, variables) for argument in expression.arguments]
    kinds = _SIZED if name == "len" else (int, float)
    if variables.get(name, known.get(name)) is not known.get(name) or not given:
        raise _Unsure
    if name not in known or any(type(value) not in kinds for value in given):
        raise _Unsure
    return known[name](*given) if len(given) > 1 or name in ("int", "len") else given[0]


# Telling names.


def _by_name(frame: FrameType | None, names: frozenset[str]) -> Found | None:
    """A variable or a setting of a telling name; several that differ tell nothing."""
    for _ in range(_loops.MOST_FRAMES):
        if frame is None:
            return None
        if not _loops.is_foreign(frame):
            for scope in _scopes(frame):
                found = list(_named(frame, scope, names))
                if found:
                    return found[0] if len({turns for turns, _ in found}) == 1 else None
        frame = frame.f_back
    return None


def _scopes(frame: FrameType) -> Iterator[dict[str, Any]]:
    """The variables a frame sees that may tell, from its own to its module's."""
    code = frame.f_code
    own = {
        name
        for name in (*code.co_varnames, *code.co_freevars, *code.co_cellvars)
        if _may_tell(name)
    }
    if code.co_flags & CO_OPTIMIZED:
        yield _values.own_variables(frame, own)
    yield {name: value for name, value in list(frame.f_globals.items()) if _may_tell(name)}


def _may_tell(name: Any) -> bool:
    lower = name.lower() if type(name) is str else ""
    return lower in EPOCH_NAMES or lower in STEP_NAMES or lower in HOLDERS


def _named(frame: FrameType, scope: dict[str, Any], names: frozenset[str]) -> Iterator[Found]:
    counted = _stored_in_loops(frame)
    plain = [(value, name) for name, value in scope.items() if name.lower() in names]
    plain = [(value, name) for value, name in plain if name not in counted]
    for value, source in plain or _held(scope, names):
        if type(value) is int and 0 < value < _ENDLESS:
            yield value, source


def _held(scope: dict[str, Any], names: frozenset[str]) -> Iterator[tuple[Any, str]]:
    for holder, of in scope.items():
        if holder.lower() in HOLDERS:
            yield from _settings(of, holder, names, deeper=True)


def _settings(
    of: Any, source: str, names: frozenset[str], *, deeper: bool
) -> Iterator[tuple[Any, str]]:
    """The settings of these names that an object holds, itself or in a settings object of its own."""
    is_dict = issubclass(type(of), dict)
    own = of if is_dict else _values.own_attributes(of)
    for name in list(own):
        if type(name) is not str:
            continue
        value = _values.item(of, name) if is_dict else _values.attribute(of, name)
        told = f'{source}["{name}"]' if is_dict else f"{source}.{name}"
        if name.lower() in names:
            yield value, told
        elif deeper and name.lower() in HOLDERS and name != "self":
            yield from _settings(value, told, names, deeper=False)


def _stored_in_loops(frame: FrameType) -> set[str]:
    """Variables that the loops around a frame's instruction set: counters, not plans."""
    loops = [loop for loop in _loops.loops_of(frame.f_code) if loop.encloses(frame.f_lasti)]
    if not loops:
        return set()
    running = _Running(frame, loops[-1])
    return {
        op.value
        for _, op in running.inside()
        if op.name.startswith("STORE_") and type(op.value) is str
    }
