"""Async tests: a decorator that runs one to its end."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import ParamSpec

P = ParamSpec("P")


def awaited(test: Callable[P, Coroutine[None, None, None]]) -> Callable[P, None]:
    """Run the coroutine of a test."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run
