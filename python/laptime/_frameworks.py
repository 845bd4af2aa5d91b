"""Frameworks: what the hooks of each register when they attach, so that what they share names none of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from . import _guard

# A kind of object, and what one says of a fit: `framework`, `device`, `parameters`, `rows` …
Facts = tuple[type, Callable[[Any], dict[str, Any]]]

# What is called when a fit begins and gives facts that are of no framework, such as what laptime changed.
when_fit_begins: list[Callable[[], dict[str, Any] | None]] = []

# Packages whose loops are never the script's.
packages: set[str] = {"laptime"}

_optimizers: list[Facts] = []
_models: list[Facts] = []
_data: list[Facts] = []
_with_known_rows: set[str] = set()


def register(
    package: str,
    *,
    optimizers: Facts | None = None,
    models: Facts | None = None,
    data: Facts | None = None,
    counts_rows: bool = True,
) -> None:
    """Registers a framework by its package, with what its objects say of a fit.

    Rows that the data does not know are counted in the first epoch, unless `counts_rows` is off.
    """
    packages.add(package)
    for known, facts in ((_optimizers, optimizers), (_models, models), (_data, data)):
        if facts is not None:
            known.append(facts)
    if not counts_rows:
        _with_known_rows.add(package)


def counts_rows(framework: object) -> bool:
    """Whether rows that the data of a framework does not know are to be counted."""
    return framework not in _with_known_rows


def optimizer_facts(optimizer: Any) -> dict[str, Any]:
    """What an optimizer says of a fit."""
    return _said_by(_optimizers, optimizer)


def model_facts(model: Any) -> dict[str, Any]:
    """What a model says of a fit."""
    return _said_by(_models, model)


def data_facts(data: Any) -> dict[str, Any]:
    """What a loader or a dataset says of a fit."""
    return _said_by(_data, data)


def common_facts() -> dict[str, Any]:
    """What is known of every fit that begins, whatever its framework."""
    facts: dict[str, Any] = {}
    for begin in when_fit_begins:
        facts |= begin() or {}
    return facts


def changes_if_asked(package: str) -> tuple[tuple[str, Callable[[], None]], ...]:
    """The hook that makes a framework's changes, where `LAPTIME_CHANGES` asks for some."""
    if not os.environ.get("LAPTIME_CHANGES"):
        return ()
    try:
        return (("changes", import_module(f"{package}.changes").attach),)
    except Exception as error:
        _guard.broken("changes", error)
        return ()


def trained_kinds() -> tuple[type, ...]:
    """What models and optimizers are instances of."""
    return tuple(kind for known in (_models, _optimizers) for kind, _ in known)


def _said_by(known: list[Facts], thing: Any) -> dict[str, Any]:
    return next((facts(thing) for kind, facts in known if isinstance(thing, kind)), {})
