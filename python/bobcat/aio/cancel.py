"""The kill switch: a one-way latch that the run loop obeys at once.

A run checks it before every step and every effect, and a `CancelToken` also ends a model call, an approval wait or a
tool in the middle. Any object with `cancelled` and `reason` works; one without `subscribe` is polled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

DEFAULT_REASON = "cancelled by caller"


@runtime_checkable
class CancelSignal(Protocol):
    """The interface of a kill switch that a run reads."""

    @property
    def cancelled(self) -> bool:
        """True once the run must stop."""

    @property
    def reason(self) -> str:
        """The reason; empty when none was given."""


Cancelled = CancelSignal
"""Older name of `CancelSignal`, and lynx-agent's."""


class CancelToken:
    """A kill switch that can be thrown from any thread or signal handler. The first reason is kept."""

    __slots__ = ("_cancelled", "_reason", "_wakers")

    def __init__(self) -> None:
        self._cancelled = False
        self._reason = ""
        # INVARIANT: only single, atomic dict operations touch it, so that a signal handler never waits for a lock.
        self._wakers: dict[object, Callable[[], object]] = {}

    def cancel(self, reason: str = DEFAULT_REASON) -> None:
        """Throw the switch. Later calls change nothing."""
        if self._cancelled:
            return
        self._reason = reason
        self._cancelled = True
        for waker in tuple(self._wakers.values()):
            waker()

    def subscribe(self, waker: Callable[[], object]) -> Callable[[], None]:
        """Register `waker`, called on the thread that throws the switch. Returns the function that unregisters it."""
        ticket = object()
        self._wakers[ticket] = waker
        if self._cancelled:
            waker()

        def unsubscribe() -> None:
            self._wakers.pop(ticket, None)

        return unsubscribe

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called."""
        return self._cancelled

    @property
    def reason(self) -> str:
        """The first reason given; empty before."""
        return self._reason


def cancelled_reason(switch: CancelSignal | None) -> str | None:
    """The reason why a run must stop, or None. A switch that cannot be read counts as thrown."""
    if switch is None:
        return None
    try:
        if not switch.cancelled:
            return None
        return str(getattr(switch, "reason", "") or DEFAULT_REASON)
    except Exception as error:
        return f"the kill switch cannot be read: {type(error).__name__}"
