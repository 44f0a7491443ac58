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
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from bobcat.cancel import Cancelled, cancelled_reason
from bobcat.kernel.commands import Interrupted, StoreFailed, Superseded

T = TypeVar("T")

POLL_SECONDS = 0.05
"""How often a kill switch without `subscribe` is looked at during a wait."""

WALL_CLOCK: Callable[[], datetime] = partial(datetime.now, UTC)
"""The machine's clock. PERF: a partial costs what the call itself costs."""


class Interrupts:
    """The kill switch and the deadline of one run; armed while it is entered, in the task that entered it.

    Without `reach` they are only looked at: no wait is ended on their account.
    """

    def __init__(
        self,
        switch: Cancelled | None,
        duration_seconds: float | None,
        *,
        reach: bool = True,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.now = clock or WALL_CLOCK
        """The date, for records, events and policies."""
        self._switch = switch
        self._reach = reach
        self._started = self._loop.time()
        bounded = duration_seconds is not None and math.isfinite(duration_seconds)
        self._deadline = self._started + duration_seconds if bounded and duration_seconds is not None else math.inf
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a run needs an asyncio task")
        self._task: asyncio.Task[Any] = task  # Any: a task is generic in a result nobody reads here
        self._waiting = False
        self._outer = 0
        self._deaf = False
        self._limit = math.inf
        self.fired: Interrupted | None = None
        """Why the wait in progress is being ended, if it is."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._poller: asyncio.TimerHandle | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._lost: Interrupted | None = None
        self.quiet = True
        """Whether nobody said that the run is lost, or its lease about to end."""

    def __enter__(self) -> Self:
        if self._switch is not None and self._reach:
            subscribe = getattr(self._switch, "subscribe", None)
            if callable(subscribe):
                self._unsubscribe = subscribe(self._wake)
            else:
                self._poll()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for timer in (self._timer, self._poller):
            if timer is not None:
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

    def is_calm(self) -> bool:
        """Whether nothing can be due as long as it is `quiet`: there is neither a switch nor a deadline."""
        return self._switch is None and self._deadline == math.inf

    def lose(self, why: Superseded | StoreFailed) -> None:
        """End the wait in progress: the run is lost, or its lease about to end. After a loss nothing new may begin."""
        self.quiet = False
        if isinstance(why, Superseded):
            self._lost = Interrupted(lost=why, started=False)
        if not self._deaf:
            self._fire(Interrupted(lost=why))

    def due(self, *, deadline: bool = True) -> Interrupted | None:
        """Why nothing new may begin, if something says so."""
        if self.fired is not None:
            return self.fired
        if self._lost is not None:
            return self._lost
        if self._switch is not None:
            reason = cancelled_reason(self._switch)
            if reason is not None:
                return Interrupted(cancelled=reason, started=False)
        if deadline and self._deadline != math.inf and self._loop.time() >= self._deadline:
            return Interrupted(started=False)
        return None

    def being_cancelled(self) -> bool:
        """True when the task is being cancelled; False when a `CancelledError` was raised by somebody's own hand."""
        return self._task.cancelling() > 0

    @property
    def cancelling(self) -> Callable[[], int]:
        """Asks how many cancellations of the task there are. What was asked for while it ran, as by Ctrl-C, arrives
        when it waits for something; where it never would, somebody has to `await asyncio.sleep(0)`.
        """
        return self._task.cancelling

    async def let_through(self) -> None:
        """Let a cancellation arrive that was asked for while the task ran."""
        if self._task.cancelling():
            await asyncio.sleep(0)

    def shield(self, seconds: float | None) -> None:
        """Until `unshield`, the wait in progress ends after `seconds`, and for no other reason."""
        self._deaf = True
        if seconds is not None:
            self._limit = limit = self._loop.time() + seconds
            if limit < self._timer_at:
                self._set_timer()

    def unshield(self) -> None:
        """The switch and the deadline reach the wait in progress again."""
        self._deaf = not self._reach
        self._limit = math.inf
        if self._deadline < self._timer_at:
            self._set_timer()

    def let_count(self, seconds: float | None) -> None:
        """A shielded wait is over. When its time was too, it counts all the same, and the next one has `seconds`."""
        if self.fired is not None:
            self._taken_back(self._outer)
            self.shield(seconds)

    # Any: arguments of any call.
    async def wait(
        self, call: Callable[..., Awaitable[T]], *args: Any, seconds: float | None = None, keep_late: bool = False
    ) -> T | Interrupted:
        """Await `call(*args)` until it is interrupted, or takes longer than `seconds`.

        `keep_late` lets an answer count that comes all the same.
        """
        return await self._bounded(call, args, seconds, deaf=not self._reach, keep_late=keep_late)

    async def insist(
        self, call: Callable[..., Awaitable[T]], *args: Any, seconds: float | None = None
    ) -> T | Interrupted:
        """Await `call(*args)`, whatever the switch and the deadline say, for `seconds`."""
        return await self._bounded(call, args, seconds, deaf=True, keep_late=True)

    async def _bounded(
        self,
        call: Callable[..., Awaitable[T]],
        args: tuple[Any, ...],
        seconds: float | None,
        *,
        deaf: bool,
        keep_late: bool,
    ) -> T | Interrupted:
        if seconds is not None and seconds <= 0:
            return Interrupted(step=True, started=False)
        if self._task.cancelling():
            await asyncio.sleep(0)  # where nobody waits for anything, a cancellation would arrive after the last effect
        outer = self._outer = self._task.cancelling()
        self._deaf = deaf
        self._limit = math.inf if seconds is None else self._loop.time() + seconds
        if self._limit != math.inf or not deaf:
            self._set_timer()
        self._waiting = True
        try:
            value = await call(*args)
        except asyncio.CancelledError:
            self._waiting = False
            cause = self._taken_back(outer)
            if cause is None or self._task.cancelling() > outer:
                raise
            return cause
        except BaseException:
            self._waiting = False
            self._taken_back(outer)
            raise
        self._waiting = False
        if self.fired is None:
            return value
        late = self._taken_back(outer)
        return value if late is None or keep_late else late

    def _taken_back(self, outer: int) -> Interrupted | None:
        """Undo the one cancellation this wait asked for; why it did."""
        cause, self.fired = self.fired, None
        if cause is not None and self._task.cancelling() > outer:
            self._task.uncancel()
        return cause

    def _set_timer(self) -> None:
        """Have a timer that fires no later than this wait may last.

        PERF: one timer serves many waits: it outlives them, and is set again when it fires too early.
        """
        when = self._limit if self._deaf else min(self._limit, self._deadline)
        if when < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._timer_at = self._loop.call_at(when, self._on_timer), when

    def _on_timer(self) -> None:
        self._timer, self._timer_at = None, math.inf
        if not self._waiting:
            return
        now = self._loop.time()
        if now >= self._limit:
            self._fire(Interrupted(step=True))
        elif not self._deaf and now >= self._deadline:
            self._fire(Interrupted())
        else:
            self._set_timer()

    def _fire(self, cause: Interrupted) -> None:
        if self._waiting and self.fired is None:
            self.fired = cause
            self._task.cancel()

    def _wake(self) -> None:
        """Runs on whatever thread throws the switch."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._on_switch)

    def _on_switch(self) -> None:
        reason = self.cancelled
        if reason is not None and not self._deaf:
            self._fire(Interrupted(cancelled=reason))

    def _poll(self) -> None:
        self._on_switch()
        self._poller = self._loop.call_later(POLL_SECONDS, self._poll)
