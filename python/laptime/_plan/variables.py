"""Values of a program that runs, read without running any of its code.

No property, `__getattr__` or `__getitem__` of a user's class is called: what is not plainly there is unknown.
"""

from __future__ import annotations

import sys
from types import (
    FrameType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from .. import _loops

UNKNOWN: Any = object()

# The slots of `type` itself: a metaclass cannot stand in between.
_mro = type.__dict__["__mro__"].__get__
_dict_of_type = type.__dict__["__dict__"].__get__
_name_of_type = type.__dict__["__name__"].__get__


def variables(frame: FrameType, names: set[str]) -> dict[str, Any]:
    """The variables of these names that a frame sees, its globals and the built-ins too."""
    found: dict[str, Any] = {}
    for scope in (frame.f_builtins, frame.f_globals):
        found.update((name, scope[name]) for name in names if name in scope)
    found.update(own_variables(frame, names))
    return found


def own_variables(frame: FrameType, names: set[str]) -> dict[str, Any]:
    """The frame's own variables of these names; none where reading them would change what the user sees."""
    code = frame.f_code
    wanted = names.intersection((*code.co_varnames, *code.co_cellvars, *code.co_freevars))
    if not _loops._copies_locals(frame):
        wanted = names
    if not wanted or not _loops._may_read(frame):
        return {}
    values = frame.f_locals
    found = {name: values[name] for name in wanted if name in values}
    if _loops._copies_locals(frame) and sys.gettrace() is None:
        # The copy would keep the user's tensors alive. A debugger writes it back, so then it stays.
        values.clear()
    return found


def attribute(of: Any, name: str) -> Any:
    """An attribute as it lies in the object, its slots or its class."""
    if type(of) is ModuleType:
        return of.__dict__.get(name, UNKNOWN)
    if issubclass(type(of), type):
        return _plain(_in_class(of, name))
    kind = type(of)
    in_class = _in_class(kind, name)
    if type(_in_class(kind, "__getattribute__")) is not WrapperDescriptorType:
        return UNKNOWN  # Written in Python.
    if type(in_class) is MemberDescriptorType:
        return in_class.__get__(of, kind) if _has_slot(of, in_class) else UNKNOWN
    if in_class is not UNKNOWN and _in_class(type(in_class), "__set__") is not UNKNOWN:
        return UNKNOWN  # A property, which comes before what lies in the object.
    own = own_attributes(of)
    return own[name] if name in own else _plain(in_class)


def own_attributes(of: Any) -> dict[str, Any]:
    """The dictionary of an object; empty where there is none."""
    descriptor = _in_class(type(of), "__dict__")
    is_builtin = type(descriptor) in (GetSetDescriptorType, MemberDescriptorType)
    found = descriptor.__get__(of) if is_builtin else {}
    return found if type(found) is dict else {}


def item(of: Any, key: Any) -> Any:
    """An item of a dictionary, list or tuple."""
    if type(of) in (list, tuple) and type(key) is int:
        return of[key] if -len(of) <= key < len(of) else UNKNOWN
    if not issubclass(type(of), dict) or type(key) not in (str, int):
        return UNKNOWN
    if _in_class(type(of), "__getitem__") is not dict.__getitem__:
        return UNKNOWN
    return dict.get(of, key, UNKNOWN)


def kind_name(of: Any) -> tuple[str, str]:
    """The package and the name of an object's class."""
    module = _in_class(type(of), "__module__")
    return (module.partition(".")[0] if type(module) is str else "", _name_of_type(type(of)))


def _in_class(kind: type, name: str) -> Any:
    for each in _mro(kind):
        own = _dict_of_type(each)
        if name in own:
            return own[name]
    return UNKNOWN


def _plain(value: Any) -> Any:
    """What a class holds, unless getting it would call something."""
    if value is UNKNOWN or _in_class(type(value), "__get__") is not UNKNOWN:
        return UNKNOWN
    return value


def _has_slot(of: Any, descriptor: Any) -> bool:
    try:
        descriptor.__get__(of, type(of))
    except AttributeError:
        return False
    return True
