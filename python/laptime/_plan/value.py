"""Value: what an expression of the user's code is now, without running any of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import variables as values
from .expression import Arithmetic, Attribute, Call, Constant, Expression, Item, Name

# More turns than anyone waits for: a bound that means "until something else ends it".
ENDLESS = 10**10


class Unsure(Exception):
    """Something is not plainly there."""


def evaluate(expression: Expression, variables: dict[str, Any]) -> Any:
    """What an expression is now, without running any code of the user's."""
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Name):
        found = variables.get(expression.name, values.UNKNOWN)
    elif isinstance(expression, Attribute):
        found = values.attribute(evaluate(expression.of, variables), expression.name)
    elif isinstance(expression, Item):
        found = values.item(evaluate(expression.of, variables), evaluate(expression.key, variables))
    elif isinstance(expression, Arithmetic):
        return _result(expression, variables)
    elif isinstance(expression, Call):
        return _call(expression, variables)
    else:
        raise Unsure
    if found is values.UNKNOWN:
        raise Unsure
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
    sides = [evaluate(side, variables) for side in (expression.left, expression.right)]
    if expression.sign not in _SIGNS or any(type(side) not in (int, float) for side in sides):
        raise Unsure
    return _SIGNS[expression.sign](*sides)


_SIZED = (list, tuple, range, dict, str)


def _call(expression: Call, variables: dict[str, Any]) -> Any:
    """`int`, `len`, `min` and `max` of plain values."""
    if not isinstance(expression.function, Name) or expression.named:
        raise Unsure
    known: dict[str, Any] = {"int": int, "len": len, "min": min, "max": max}
    name = expression.function.name
    given = [evaluate(argument, variables) for argument in expression.arguments]
    kinds = _SIZED if name == "len" else (int, float)
    if variables.get(name, known.get(name)) is not known.get(name) or not given:
        raise Unsure
    if name not in known or any(type(value) not in kinds for value in given):
        raise Unsure
    return known[name](*given) if len(given) > 1 or name in ("int", "len") else given[0]


def integer(value: Any) -> int:
    if type(value) is not int:
        raise Unsure
    return value


def sane(turns: Any) -> int:
    if not 0 < integer(turns) < ENDLESS:
        raise Unsure
    return turns
