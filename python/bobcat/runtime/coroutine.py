"""Awaiting a coroutine that already ran to its first suspension, started by `bobcat._core.first_step`.

Called by the fast path, whose stores seldom suspend: the setup for a wait happens only when there is a wait.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from types import coroutine
from typing import Any, cast


# Any: the values that pass between a task and its awaitable are opaque.
@coroutine
def await_started(started: Awaitable[object], waits_for: Any) -> Generator[Any, Any, Any]:
    """Await `started`, a coroutine that has yielded `waits_for`, to its end, as `await` would have from its start."""
    running = cast("Generator[Any, Any, Any]", started)
    try:
        while True:
            try:
                answer = yield waits_for
            except GeneratorExit:
                running.close()
                raise
            except BaseException as error:
                waits_for = running.throw(error)
            else:
                waits_for = running.send(answer)
    except StopIteration as done:
        return done.value
