"""One simulated worker process: stepped up to a point, stopped there, gone on with, or killed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeVar

from bobcat.testing.crashsim.clock import Clock
from bobcat.testing.crashsim.errors import SimulationError, Unsupported
from bobcat.testing.crashsim.loop import SimLoop
from bobcat.testing.crashsim.places import place_of

T = TypeVar("T")

MAX_STEPS = 100_000
"""Steps of one worker. A run that takes more is not bounded."""
MAX_SECONDS = 86_400.0
"""Simulated seconds that one worker may wait for something."""


class Point(NamedTuple):
    """A point of a worker's run: the step that comes next, from 1 on, and what it goes on with."""

    number: int
    place: str
    in_tool: bool
    """Whether a tool has been called and has not returned."""


class Process:
    """A worker. `steps` is how many steps it has taken."""

    # Any: a worker's result is whatever its coroutine returns.
    def __init__(self, name: str, clock: Clock, main: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self.name = name
        self.steps = 0
        self.loop = SimLoop(clock, name)  # type: ignore[abstract]  # what it lacks, it refuses: see `_OUTSIDE`
        self._clock = clock
        self._began = clock.seconds
        self.trace: list[Point] | None = None
        """Every point passed, when somebody wants to know."""
        self.watch: Callable[[], object] = lambda: None
        """Called at every such point."""
        with self.loop.running():
            self._task = self.loop.create_task(main())

    def advance(self, until: int | None = None) -> Point | None:
        """Take steps, before step `until` at most: the point there, or None when the worker is done.

        Raises what the worker raises, and `SimulationError` when it does not end.
        """
        loop = self.loop
        with loop.running():
            while not self._task.done():
                handle = loop.next_step()
                if handle is None:
                    self._wait()
                    continue
                if until is not None and self.steps + 1 >= until:
                    return self._point(handle)
                if self.trace is not None:
                    self.trace.append(self._point(handle))
                    self.watch()
                self.steps += 1
                if self.steps > MAX_STEPS:
                    raise SimulationError(f"a worker took {MAX_STEPS} steps and has not ended: is its run bounded?")
                loop.step()
        loop.die()
        return None

    def result(self) -> Any:
        """What the worker returned. Raises what it raised."""
        error = self._task.exception()
        if isinstance(error, Unsupported):
            raise SimulationError(str(error)) from error
        return self._task.result()

    def kill(self) -> None:
        """The end: nothing of it runs any more."""
        self.loop.die()

    def _point(self, handle: asyncio.Handle) -> Point:
        return Point(self.steps + 1, place_of(handle, self.loop), self.loop.in_tools > 0)

    def _wait(self) -> None:
        then = self.loop.next_time()
        if then is None or then - self._began > MAX_SECONDS:
            where = place_of(self._task, self.loop)
            raise SimulationError(
                f"the worker waits for something that never comes, at {where}: a thread, or another worker's task?"
            )
        self._clock.seconds = max(self._clock.seconds, then)


def alone(clock: Clock, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What `main` returns, awaited by a worker that nobody disturbs."""
    process = Process("nobody", clock, main)
    process.advance()
    found: T = process.result()
    return found
