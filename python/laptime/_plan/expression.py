"""Expressions read back from bytecode: what a loop runs over, what a condition compares.

Only straight-line code of plain loads, calls and arithmetic is read; anything else is no expression.
"""

from __future__ import annotations

import dis
import sys
from dataclasses import dataclass, field
from types import CodeType
from typing import Any


@dataclass(frozen=True, slots=True)
class Op:
    """One instruction, the same in every version of Python: fused instructions are taken apart."""

    offset: int
    name: str
    value: Any
    is_target: bool = False
    null: bool = False
    """Whether a load also pushes the empty place of a method's `self`."""


# What one instruction loads or stores under another name, by version.
_SAME = {
    "LOAD_FAST_CHECK": "LOAD_FAST",
    "LOAD_FAST_BORROW": "LOAD_FAST",
    "LOAD_CLASSDEREF": "LOAD_DEREF",
    "LOAD_SMALL_INT": "LOAD_CONST",
    "LOAD_CONST_IMMORTAL": "LOAD_CONST",
    "NOT_TAKEN": "NOP",
    "PRECALL": "NOP",
}
_FUSED = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
_NAMES = frozenset({"LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF"})
_STORES = frozenset({"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"})


def ops_of(code: CodeType) -> list[Op]:
    """The instructions of a code object."""
    found: list[Op] = []
    prefix: tuple[int, bool] | None = None
    for step in dis.get_instructions(code):
        # A jump to an instruction with a long argument leads to its prefix.
        offset, is_target = prefix or (step.offset, step.is_jump_target)
        if step.opname == "EXTENDED_ARG":
            prefix = (offset, is_target)
            continue
        prefix = None
        name = _SAME.get(step.opname, step.opname)
        if fused := _FUSED.get(name):
            found.extend(Op(offset, each, of) for each, of in zip(fused, step.argval))
            continue
        value: Any = step.argval
        if name == "KW_NAMES":
            value = code.co_consts[step.arg or 0]
        elif name == "BINARY_OP":
            value = step.argrepr.rstrip("=") if step.argrepr != "[]" else None
            name = "BINARY_SUBSCR" if value is None else name
        null = name == "LOAD_GLOBAL" and bool((step.arg or 0) & 1)
        null = null or name == "LOAD_METHOD" or (name == "LOAD_ATTR" and _loads_method(step))
        name = "LOAD_ATTR" if name == "LOAD_METHOD" else name
        found.append(Op(offset, name, value, is_target, null))
    return found


def _loads_method(step: dis.Instruction) -> bool:
    # From 3.12 on the lowest bit says so; before, the argument is only the name's number.
    return sys.version_info >= (3, 12) and bool((step.arg or 0) & 1)


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Constant:
    """A value written out in the code."""

    value: Any

    def __str__(self) -> str:
        return f'"{self.value}"' if isinstance(self.value, str) else repr(self.value)


@dataclass(frozen=True, slots=True)
class Attribute:
    """`of.name`"""

    of: Expression
    name: str

    def __str__(self) -> str:
        return f"{self.of}.{self.name}"


@dataclass(frozen=True, slots=True)
class Item:
    """`of[key]`"""

    of: Expression
    key: Expression

    def __str__(self) -> str:
        return f"{self.of}[{self.key}]"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left sign right`"""

    left: Expression
    sign: str
    right: Expression

    def __str__(self) -> str:
        sides = [f"({s})" if isinstance(s, Arithmetic) else str(s) for s in (self.left, self.right)]
        return f"{sides[0]} {self.sign} {sides[1]}"


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list or tuple of this many values."""

    length: int

    def __str__(self) -> str:
        return f"a list of {self.length}"


@dataclass(frozen=True, slots=True)
class Call:
    """`function(arguments, name=value)`"""

    function: Expression
    arguments: tuple[Expression, ...]
    named: dict[str, Expression] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The last word of what is called: `tqdm` of `tqdm.auto.tqdm`."""
        return self.function.name if isinstance(self.function, (Name, Attribute)) else ""

    def __str__(self) -> str:
        named = (f"{name}={value}" for name, value in self.named.items())
        return f"{self.function}({', '.join([*map(str, self.arguments), *named])})"


Expression = Name | Constant | Attribute | Item | Arithmetic | Sequence | Call
_NULL = Constant(None)
_NULL_IS_BELOW = sys.version_info < (3, 13)


def before(ops: list[Op], at: int, count: int = 1) -> list[Expression] | None:
    """The `count` values that the instruction at this index finds on the stack; `None` if not plain."""
    missing, begin = count, at
    while missing > 0:
        if ops[begin].is_target:
            return None  # Other code may come here with another value.
        begin -= 1
        effect = _effect(ops[begin]) if begin >= 0 else None
        if effect is None:
            return None
        takes, gives = effect
        missing += takes - gives
    stack: list[Expression] = []
    names: tuple[str, ...] = ()
    for op in ops[begin:at]:
        if op.name == "KW_NAMES":
            names = op.value
        elif not _apply(op, stack, names):
            return None
        elif op.name == "CALL":
            names = ()
    return stack if len(stack) == count else None


def _effect(op: Op) -> tuple[int, int] | None:
    """How many values an instruction takes and gives."""
    if op.name in _NAMES or op.name in ("LOAD_CONST", "PUSH_NULL"):
        return (0, 2 if op.null else 1)
    if op.name in ("NOP", "KW_NAMES", "RESUME"):
        return (0, 0)
    if op.name == "LOAD_ATTR":
        return (1, 2 if op.null else 1)
    if op.name in ("TO_BOOL", "UNARY_NEGATIVE"):
        return (1, 1)
    if op.name in ("BINARY_OP", "BINARY_SUBSCR"):
        return (2, 1)
    if op.name in ("BUILD_LIST", "BUILD_TUPLE"):
        return (op.value, 1)
    if op.name == "LIST_EXTEND" and op.value == 1:
        return (2, 1)
    if op.name == "CALL":
        return (op.value + 2, 1)
    return (op.value + 3, 1) if op.name == "CALL_KW" else None


def _apply(op: Op, stack: list[Expression], names: tuple[str, ...]) -> bool:
    """Does to expressions what the instruction does to values; says whether it could."""
    if op.null and _NULL_IS_BELOW:
        stack.insert(len(stack) - (op.name == "LOAD_ATTR"), _NULL)
    if op.name in _NAMES:
        stack.append(Name(op.value))
    elif op.name == "LOAD_CONST":
        stack.append(Constant(op.value))
    elif op.name == "PUSH_NULL":
        stack.append(_NULL)
    elif op.name == "LOAD_ATTR":
        stack.append(Attribute(stack.pop(), op.value))
    elif op.name == "UNARY_NEGATIVE":
        stack.append(Arithmetic(Constant(0), "-", stack.pop()))
    elif op.name in ("BINARY_OP", "BINARY_SUBSCR"):
        right, left = stack.pop(), stack.pop()
        stack.append(Item(left, right) if op.value is None else Arithmetic(left, op.value, right))
    elif op.name in ("BUILD_LIST", "BUILD_TUPLE"):
        del stack[len(stack) - op.value :]
        stack.append(Sequence(op.value))
    elif op.name == "LIST_EXTEND":
        more, known = stack.pop(), stack.pop()
        if not isinstance(more, Constant) or not isinstance(known, Sequence):
            return False
        stack.append(Sequence(known.length + len(more.value)))
    elif op.name in ("CALL", "CALL_KW"):
        if op.name == "CALL_KW":
            top = stack.pop()
            names = top.value if isinstance(top, Constant) else ()
        return _call(op.value, stack, names)
    if op.null and not _NULL_IS_BELOW:
        stack.append(_NULL)
    return True


def _call(count: int, stack: list[Expression], names: tuple[str, ...]) -> bool:
    given = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    # The function, and the empty place below or above it.
    called = [each for each in (stack.pop(), stack.pop()) if each is not _NULL]
    if len(called) != 1:
        return False
    plain = count - len(names)
    stack.append(Call(called[0], tuple(given[:plain]), dict(zip(names, given[plain:]))))
    return True


def roots(expression: Expression) -> set[str]:
    """The variables and attributes an expression reads."""
    if isinstance(expression, Name):
        return {expression.name}
    if isinstance(expression, Attribute):
        return roots(expression.of) | {expression.name}
    if isinstance(expression, Item):
        return roots(expression.of) | roots(expression.key)
    if isinstance(expression, Arithmetic):
        return roots(expression.left) | roots(expression.right)
    if isinstance(expression, Call):
        given = [expression.function, *expression.arguments, *expression.named.values()]
        return set().union(*map(roots, given))
    return set()


def is_plain(expression: Expression) -> bool:
    """Whether it is a chain of attributes and items, which stays what it is until one of them is stored."""
    if isinstance(expression, Attribute):
        return is_plain(expression.of)
    if isinstance(expression, Item):
        return is_plain(expression.of) and is_plain(expression.key)
    return isinstance(expression, (Name, Constant))


def stores(op: Op, name: str) -> bool:
    """Whether an instruction stores a variable or an attribute of this name."""
    return (op.name in _STORES or op.name == "STORE_ATTR") and op.value == name
