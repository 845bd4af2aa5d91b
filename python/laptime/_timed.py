"""Timed functions that run in pieces: generators and coroutines."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from laptime._native import Stage


def timed(stage: Stage, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, timed: a coroutine from its first step to its end, a generator while it runs itself."""
    if inspect.iscoroutinefunction(function):
        return _timed_coroutine(stage, function)
    if inspect.isasyncgenfunction(function):
        return _timed_async_generator(stage, function)
    return _timed_generator(stage, function)


def _timed_coroutine(stage: Stage, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*arguments: Any, **named: Any) -> Any:
        with stage:
            return await function(*arguments, **named)

    return wrapper


def _timed_generator(stage: Stage, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*arguments: Any, **named: Any) -> Any:
        generator = function(*arguments, **named)
        resume: Callable[..., Any] = generator.__next__
        sent: tuple[Any, ...] = ()
        while True:
            # Only the generator's own work counts, not what its consumer does between two items.
            try:
                with stage:
                    item = resume(*sent)
            except StopIteration as end:
                return end.value
            try:
                value = yield item
            except GeneratorExit:
                with stage:
                    generator.close()
                raise
            except BaseException as error:
                resume, sent = generator.throw, (error,)
            else:
                resume, sent = generator.send, (value,)

    return wrapper


def _timed_async_generator(stage: Stage, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*arguments: Any, **named: Any) -> Any:
        generator = function(*arguments, **named)
        resume: Callable[..., Any] = generator.__anext__
        sent: tuple[Any, ...] = ()
        while True:
            try:
                with stage:
                    item = await resume(*sent)
            except StopAsyncIteration:
                return
            try:
                value = yield item
            except GeneratorExit:
                with stage:
                    await generator.aclose()
                raise
            except BaseException as error:
                resume, sent = generator.athrow, (error,)
            else:
                resume, sent = generator.asend, (value,)

    return wrapper
