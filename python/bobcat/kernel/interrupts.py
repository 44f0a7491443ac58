"""Ending a wait from outside: the kill switch and the clocks of a run.

A run waits for three things that may take for ever: the model, an approver, a tool. Each wait goes through
`Interrupts.wait`, which cancels the waiting task when the switch is thrown or a time is over, and takes that
cancellation back, as `asyncio.timeout` does. Code that swallows cancellation can delay its end; its late answer does
not count, except a tool's: what happened, happened.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from bobcat.cancel import Cancelled, cancelled_reason
from bobcat.kernel.commands import Interrupted

T = TypeVar("T")

POLL_SECONDS = 0.05
"""How often a kill switch without `subscribe` is looked at during a wait."""


class Interrupts:
    """The kill switch and the deadline of one run; armed while it is entered."""

    def __init__(self, switch: Cancelled | None, duration_seconds: float | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._switch = switch
        self._started = self._loop.time()
        bounded = duration_seconds is not None and math.isfinite(duration_seconds)
        self._deadline = self._started + duration_seconds if bounded and duration_seconds is not None else None
        self._task: asyncio.Task[Any] | None = None  # Any: a task is generic in a result nobody reads here
        self._cause: Interrupted | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._unsubscribe: Callable[[], None] | None = None

    def __enter__(self) -> Self:
        if self._deadline is not None:
            self._timers["deadline"] = self._loop.call_at(self._deadline, self._fire, Interrupted())
        if self._switch is not None:
            subscribe = getattr(self._switch, "subscribe", None)
            if callable(subscribe):
                self._unsubscribe = subscribe(self._wake)
            else:
                self._poll()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for timer in self._timers.values():
            timer.cancel()
        if self._unsubscribe is not None:
            self._unsubscribe()

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self._loop.time() - self._started

    @property
    def cancelled(self) -> str | None:
        """Why the run must stop, if the switch says so."""
        return None if self._switch is None else cancelled_reason(self._switch)

    async def wait(
        self, start: Callable[[], Awaitable[T]], *, timeout_seconds: float | None = None, keep_late: bool = False
    ) -> T | Interrupted:
        """Await what `start` begins, unless it is interrupted. `keep_late` lets an answer after that count."""
        due = self._due()
        if due is not None:
            return due
        if timeout_seconds is not None and timeout_seconds <= 0:
            return Interrupted(step=True, started=False)
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a run needs an asyncio task")
        outer = task.cancelling()
        self._task, self._cause = task, None
        timer = None
        if timeout_seconds is not None and math.isfinite(timeout_seconds):
            timer = self._loop.call_later(timeout_seconds, self._fire, Interrupted(step=True))
        try:
            value = await start()
        except asyncio.CancelledError:
            cause = self._taken_back(task, outer)
            if cause is None or task.cancelling() > outer:
                raise
            return cause
        except BaseException:
            self._taken_back(task, outer)
            raise
        finally:
            self._task = None
            if timer is not None:
                timer.cancel()
        late = self._taken_back(task, outer)
        return value if late is None or keep_late else late

    def _taken_back(self, task: asyncio.Task[Any], outer: int) -> Interrupted | None:
        """Undo the one cancellation this wait asked for; why it did."""
        cause, self._cause = self._cause, None
        if cause is not None and task.cancelling() > outer:
            task.uncancel()
        return cause

    def _due(self) -> Interrupted | None:
        reason = self.cancelled
        if reason is not None:
            return Interrupted(cancelled=reason, started=False)
        if self._deadline is not None and self._loop.time() >= self._deadline:
            return Interrupted(started=False)
        return None

    def _fire(self, cause: Interrupted) -> None:
        if self._task is not None and self._cause is None:
            self._cause = cause
            self._task.cancel()

    def _wake(self) -> None:
        """Runs on whatever thread throws the switch."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._on_switch)

    def _on_switch(self) -> None:
        reason = self.cancelled
        if reason is not None:
            self._fire(Interrupted(cancelled=reason))

    def _poll(self) -> None:
        self._on_switch()
        self._timers["poll"] = self._loop.call_later(POLL_SECONDS, self._poll)
