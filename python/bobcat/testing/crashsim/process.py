"""One simulated worker process: advanced to a point, stopped there, resumed, or killed."""

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
"""Steps of one worker. A run with more is considered unbounded."""
MAX_SECONDS = 86_400.0
"""Simulated seconds that one worker may wait for something."""


class Point(NamedTuple):
    """A point of a worker's run: the number of the next step, from 1, and its position."""

    number: int
    place: str
    in_tool: bool
    """True during a tool call."""


class Process:
    """A worker. `steps` is the number of executed steps."""

    # Any: a worker's result is whatever its coroutine returns.
    def __init__(self, name: str, clock: Clock, main: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self.name = name
        self.steps = 0
        self.loop = SimLoop(clock, name)
        self._clock = clock
        self._began = clock.seconds
        self.trace: list[Point] | None = None
        """All passed points, if tracing is on."""
        self.watch: Callable[[], object] = lambda: None
        """Callback for each point."""
        with self.loop.running():
            self._task = self.loop.create_task(main())

    def advance(self, until: int | None = None) -> Point | None:
        """Execute steps up to step `until`: return the point there, or None if the worker is done.

        Raises the worker's exceptions, and `SimulationError` if it does not end.
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
        """Return the worker's result. Raises its exception."""
        error = self._task.exception()
        if isinstance(error, Unsupported):
            raise SimulationError(str(error)) from error
        return self._task.result()

    def kill(self) -> None:
        """Kill the worker: none of its code runs any more."""
        self.loop.die()

    def _point(self, handle: asyncio.Handle) -> Point:
        return Point(self.steps + 1, place_of(handle, self.loop), self.loop.in_tools > 0)

    def _wait(self) -> None:
        then = self.loop.next_time()
        if then is None or then - self._began > MAX_SECONDS:
            where = place_of(self._task, self.loop)
            raise SimulationError(
                f"the worker waits for an event that never occurs, at {where}: a thread, or another worker's task?"
            )
        self._clock.seconds = max(self._clock.seconds, then)


def alone(clock: Clock, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Await `main` in a worker without faults and return the result."""
    process = Process("reader", clock, main)
    process.advance()
    found: T = process.result()
    return found
