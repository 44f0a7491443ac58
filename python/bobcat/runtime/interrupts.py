"""Interruptible waits: the kill switch and the deadlines of a run.

Three waits of a run are unbounded: the model, an approver, a tool. Each goes through `Interrupts.wait`, which cancels
the waiting task when the switch is thrown or a deadline passes, and undoes that cancellation, as `asyncio.timeout`
does. Code that swallows cancellation can delay the end of a wait; its late answer is ignored, except a tool's, because
its effect has happened.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from bobcat.aio.cancel import CancelSignal, cancelled_reason
from bobcat.runtime.commands import Interrupted, StoreFailed, Superseded

T = TypeVar("T")

POLL_SECONDS = 0.05
"""Polling interval, during a wait, of a kill switch without `subscribe`."""

WALL_CLOCK: Callable[[], datetime] = partial(datetime.now, UTC)
"""The machine's clock. PERF: a partial costs what the call itself costs."""


class Interrupts:
    """The kill switch and the deadline of one run; armed while it is entered, in the task that entered it.

    Without `ends_waits` they are only polled and end no wait.
    """

    def __init__(
        self,
        switch: CancelSignal | None,
        duration_seconds: float | None,
        *,
        ends_waits: bool = True,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.now = clock or WALL_CLOCK
        """The wall clock, for records, events and policies."""
        self._switch = switch
        self._ends_waits = ends_waits
        self._started = self._loop.time()
        bounded = duration_seconds is not None and math.isfinite(duration_seconds)
        self._deadline = self._started + duration_seconds if bounded and duration_seconds is not None else math.inf
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a run needs an asyncio task")
        self._task: asyncio.Task[Any] = task  # Any: a task is generic in its result, which is unused here
        self._waiting = False
        self._outer = 0
        self._shielded = False
        self._limit = math.inf
        self.fired: Interrupted | None = None
        """Reason for which the wait in progress is being ended, if it is."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._poller: asyncio.TimerHandle | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._lost: Interrupted | None = None
        self.lease_ok = True
        """True while the lease is neither lost nor about to expire."""

    def __enter__(self) -> Self:
        if self._switch is not None and self._ends_waits:
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
        """The reason of the kill switch when it was thrown."""
        return None if self._switch is None else cancelled_reason(self._switch)

    def is_unlimited(self) -> bool:
        """Return true if nothing but a lost lease can interrupt: there is neither a switch nor a deadline."""
        return self._switch is None and self._deadline == math.inf

    def notify_lease_lost(self, why: Superseded | StoreFailed) -> None:
        """End the wait in progress: the lease is lost or about to expire. After a loss no new action may start."""
        self.lease_ok = False
        if isinstance(why, Superseded):
            self._lost = Interrupted(lost=why, started=False)
        if not self._shielded:
            self._fire(Interrupted(lost=why))

    def due(self, *, deadline: bool = True) -> Interrupted | None:
        """Reason for which no new action may start, if there is one."""
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
        """Return true if the task is being cancelled, false if user code raised the `CancelledError`."""
        return self._task.cancelling() > 0

    @property
    def cancelling(self) -> Callable[[], int]:
        """The function that counts the cancellation requests of the task.

        A request made while the task ran, for example by Ctrl-C, is delivered at its next suspension; code that never
        suspends must `await asyncio.sleep(0)`.
        """
        return self._task.cancelling

    async def deliver_cancellation(self) -> None:
        """Deliver a cancellation that was requested while the task ran."""
        if self._task.cancelling():
            await asyncio.sleep(0)

    def shield(self, seconds: float | None) -> None:
        """Shield the wait in progress until `unshield`: only the timeout of `seconds` can end it."""
        self._shielded = True
        if seconds is not None:
            self._limit = limit = self._loop.time() + seconds
            if limit < self._timer_at:
                self._set_timer()

    def unshield(self) -> None:
        """Let the switch and the deadline interrupt the wait in progress again."""
        self._shielded = not self._ends_waits
        self._limit = math.inf
        if self._deadline < self._timer_at:
            self._set_timer()

    def count_late(self, seconds: float | None) -> None:
        """Accept the result of a shielded wait that timed out; the next wait gets `seconds`."""
        if self.fired is not None:
            self._undo_cancellation(self._outer)
            self.shield(seconds)

    # Any: arguments of any call.
    async def wait(
        self, call: Callable[..., Awaitable[T]], *args: Any, seconds: float | None = None, accept_late: bool = False
    ) -> T | Interrupted:
        """Await `call(*args)` until it is interrupted, or takes longer than `seconds`.

        With `accept_late`, an answer that arrives after the interruption still counts.
        """
        return await self._bounded(call, args, seconds, shielded=not self._ends_waits, accept_late=accept_late)

    async def wait_uninterruptible(
        self, call: Callable[..., Awaitable[T]], *args: Any, seconds: float | None = None
    ) -> T | Interrupted:
        """Await `call(*args)` for at most `seconds`, regardless of the switch and the deadline."""
        return await self._bounded(call, args, seconds, shielded=True, accept_late=True)

    async def _bounded(
        self,
        call: Callable[..., Awaitable[T]],
        args: tuple[Any, ...],
        seconds: float | None,
        *,
        shielded: bool,
        accept_late: bool,
    ) -> T | Interrupted:
        if seconds is not None and seconds <= 0:
            return Interrupted(step=True, started=False)
        if self._task.cancelling():
            await asyncio.sleep(0)  # without a suspension, a cancellation would arrive after the last effect
        outer = self._outer = self._task.cancelling()
        self._shielded = shielded
        self._limit = math.inf if seconds is None else self._loop.time() + seconds
        if self._limit != math.inf or not shielded:
            self._set_timer()
        self._waiting = True
        try:
            value = await call(*args)
        except asyncio.CancelledError:
            self._waiting = False
            cause = self._undo_cancellation(outer)
            if cause is None or self._task.cancelling() > outer:
                raise
            return cause
        except BaseException:
            self._waiting = False
            self._undo_cancellation(outer)
            raise
        self._waiting = False
        if self.fired is None:
            return value
        late = self._undo_cancellation(outer)
        return value if late is None or accept_late else late

    def _undo_cancellation(self, outer: int) -> Interrupted | None:
        """Undo the one cancellation that this wait requested, and return its cause."""
        cause, self.fired = self.fired, None
        if cause is not None and self._task.cancelling() > outer:
            self._task.uncancel()
        return cause

    def _set_timer(self) -> None:
        """Set a timer that fires no later than the end of this wait.

        PERF: one timer serves many waits: it outlives them, and is set again when it fires too early.
        """
        when = self._limit if self._shielded else min(self._limit, self._deadline)
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
        elif not self._shielded and now >= self._deadline:
            self._fire(Interrupted())
        else:
            self._set_timer()

    def _fire(self, cause: Interrupted) -> None:
        if self._waiting and self.fired is None:
            self.fired = cause
            self._task.cancel()

    def _wake(self) -> None:
        """Callback of the kill switch, called on the thread that throws it."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._on_switch)

    def _on_switch(self) -> None:
        reason = self.cancelled
        if reason is not None and not self._shielded:
            self._fire(Interrupted(cancelled=reason))

    def _poll(self) -> None:
        self._on_switch()
        self._poller = self._loop.call_later(POLL_SECONDS, self._poll)
