"""Dynamo: what compiles a script must neither compile our hooks nor miss what they stand in for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .. import _frameworks, _guard, _loops, _passes, _plan, _training


def hide_from_dynamo() -> None:
    """Makes Dynamo run our functions as they are and go on with what they call."""
    skip = _skip_code()
    folders = (f"{__package__}.", f"{_plan.__name__}.", "laptime._changes")
    own = [module for name, module in sys.modules.items() if name.startswith(folders)]
    for module in (*own, _frameworks, _guard, _loops, _passes, _plan, _training):
        for code in _guard.codes_of(module):
            skip(code)


def _skip_code() -> Callable[[Any], None]:
    # From the C module: importing `torch._dynamo` takes seconds, and most scripts never do.
    from torch._C._dynamo import eval_frame

    if hasattr(eval_frame, "skip_code"):
        return eval_frame.skip_code
    action = eval_frame._FrameAction
    strategy = eval_frame._FrameExecStrategy(action.SKIP, action.DEFAULT)
    return lambda code: eval_frame.set_code_exec_strategy(code, strategy)


def show_dynamo(original: Any, replacement: Any) -> None:
    """Dynamo goes straight to `forward` when a module's call is the one it knows: ours is that one now."""
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        module = sys.modules.get(name)
        if getattr(module, "unpatched_nn_module_call", None) is original:
            module.unpatched_nn_module_call = replacement  # type: ignore[union-attr]
