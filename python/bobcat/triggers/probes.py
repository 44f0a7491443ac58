"""Probes: functions of an app whose values triggers compare. Each call has a time limit, and one runs at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from inspect import isawaitable
from typing import Any

from bobcat.tools.digest import exact_digest

PROBE_SECONDS = 30.0
"""Time limit of a call."""

Probe = Callable[[], Any]  # Any: a JSON value, or an awaitable of one


class Probes:
    """The probes of an app by name."""

    def __init__(self, seconds: float = PROBE_SECONDS) -> None:
        self.seconds = seconds
        self.known: dict[str, Probe] = {}
        self._hanging: dict[str, asyncio.Future[Any]] = {}

    async def digest(self, name: str) -> str:
        """Call a probe, and return the digest of its value.

        Raises the exception of the probe, `TimeoutError`, and `TypeError` or `ValueError` for a value that is not JSON.
        """
        if (last := self._hanging.get(name)) is not None and not last.done():
            raise TimeoutError("the last call of the probe has not returned yet")
        call = self._hanging[name] = _in_thread(self.known[name])
        try:
            async with asyncio.timeout(self.seconds):
                value = await asyncio.shield(call)
                return exact_digest(await value if isawaitable(value) else value)
        except TimeoutError as error:
            raise TimeoutError(f"the probe did not return within {self.seconds:g} s") from error


def _in_thread(probe: Probe) -> asyncio.Future[Any]:
    """Call a probe in a thread of its own: one that hangs keeps neither the worker's threads nor its exit waiting."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    done.add_done_callback(lambda each: each.cancelled() or each.exception())

    def settle(set_: Callable[[Any], None], value: Any) -> None:  # Any: the value, or the exception
        if not done.done():
            set_(value)

    def call() -> None:
        try:
            set_, value = done.set_result, probe()
        except BaseException as error:  # a probe can raise anything
            ends = isinstance(error, StopIteration) or not isinstance(error, Exception)
            fault = RuntimeError(f"the probe raised {type(error).__name__}") if ends else error
            set_, value = done.set_exception, fault
        with suppress(RuntimeError):  # the worker has ended
            loop.call_soon_threadsafe(settle, set_, value)

    threading.Thread(target=call, name="bobcat-probe", daemon=True).start()
    return done
