"""Around: hooks that report when a function of PyTorch begins and when it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.compiler import is_dynamo_compiling

from .. import _guard


def around(
    begin: Callable[[], object], end: Callable[[], object]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function that calls `begin` before the original and `end` after it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def hooked(*args: Any, **kwargs: Any) -> Any:
            if is_dynamo_compiling():
                return original(*args, **kwargs)
            begin()
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                end()
                _guard.hide_frame(error)
                raise
            end()
            return result

        return hooked

    return make
