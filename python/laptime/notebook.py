"""A notebook's cell that trains is recorded and shows its run.

`%load_ext laptime` once, then `%%laptime` or `%%laptime NAME` as the first line of the cell.
"""

from __future__ import annotations

import ast
import os
import sys
from importlib import import_module
from typing import Any

from laptime import _native, _session
from laptime.run import Run, load


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext laptime`."""
    _attach(set())

    def laptime(line: str, cell: str) -> Run | None:
        return record_cell(shell, line, cell)

    laptime.__doc__ = record_cell.__doc__
    shell.register_magic_function(laptime, magic_kind="cell", magic_name="laptime")


def record_cell(shell: Any, line: str, cell: str) -> Run | None:
    """Records what the cell trains as a run of its own, and shows it.

    %%laptime [NAME]

    The cell runs as it would without; what it defines stays defined. A loop over a PyTorch `DataLoader`, a Keras
    fit and what else `laptime run` records needs no change.
    """
    _attach(_imported_by(cell))
    if _native.is_active() and _native.run_folder() is not None:
        # What was recorded before this cell is a run of its own.
        _session.finish()
    _session.init(name=line.strip() or None)
    result = _run(shell, cell)
    error = result.error_in_exec or result.error_before_exec
    if error is None:
        folder = _session.finish()
    else:
        folder = _session.finish("failed", f"{type(error).__name__}: {error}")
    run = None
    if folder is None:
        print(_session.why_not_recorded(), file=sys.stderr)
    else:
        run = load(os.path.basename(folder), dir=os.path.dirname(folder))
    if error is not None:
        # A cell that fails still fails, below what is known of its run.
        import_module("IPython.display").display(run)
        result.raise_error()
    return run


def _run(shell: Any, cell: str) -> Any:
    """Runs a cell; its error is kept and not shown, because it is raised again."""
    shown_by = ("showtraceback", "showsyntaxerror", "showindentationerror")
    own = {name: getattr(shell, name) for name in shown_by}
    outer = shell.displayhook.exec_result
    for name in shown_by:
        setattr(shell, name, lambda *arguments, **options: None)
    try:
        return shell.run_cell(cell, store_history=False)
    finally:
        for name, show in own.items():
            setattr(shell, name, show)
        # What follows is the value of the cell around this one.
        shell.displayhook.exec_result = outer


def _imported_by(cell: str) -> set[str]:
    """The modules that a cell imports, outside of functions too; of a cell with magics, none is known."""
    try:
        tree = ast.parse(cell)
    except SyntaxError:
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def _attach(wanted: set[str]) -> None:
    """Attaches the hooks of every framework that is imported, or is about to be."""
    for framework, hooks in _registry():
        about_to_be = any(f"{name}.".startswith(f"{framework}.") for name in wanted)
        if framework not in sys.modules and not about_to_be:
            continue
        try:
            import_module(framework)
            import_module(hooks).attach()
        except Exception as error:  # The cell's own import says what is missing.
            _native.trouble(framework, f"{type(error).__name__}: {error}")


def _registry() -> list[tuple[str, str]]:
    """The frameworks that are known: the import of each, and the module of its hooks."""
    path = os.path.join(os.path.dirname(__file__), "_hook", "frameworks.txt")
    with open(path) as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    return [(line[0], line[1]) for line in lines if len(line) == 2]
