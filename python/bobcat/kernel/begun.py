"""Awaiting a coroutine that has begun already: `bobcat._core.begin` took its first step, and it waits for something.

Called by the express lane, whose stores seldom wait: what has to be set up for a wait is set up only for one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from types import coroutine
from typing import Any, cast


# Any: what passes between a task and what it waits for is theirs.
@coroutine
def resumed(begun: Awaitable[object], waits_for: Any) -> Generator[Any, Any, Any]:
    """Await `begun`, a coroutine that has yielded `waits_for`, to its end: as `await` would have from the beginning."""
    running = cast("Generator[Any, Any, Any]", begun)
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
