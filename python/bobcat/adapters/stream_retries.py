"""Retries of streams that break before anything of the reply was shown.

The vendors' SDKs repeat requests that fail. They do not repeat one that was accepted and then fails in its stream: by
an error event (`overloaded_error`), or by a connection that breaks. After a first delta, a repetition would show text
twice, so the failure stays one.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from bobcat.adapters.streams import StreamCutOff

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
"""Upper bounds, in seconds, of the pause before the first repetition and before any: each pause is a random part."""
LONGEST_ASKED = 60.0
"""The longest pause that a server may ask for, as with the SDKs."""

_BUSY = frozenset((
    "overloaded_error", "api_error", "rate_limit_error", "timeout_error", "server_error", "rate_limit_exceeded",
    "internal_server_error", "service_unavailable", "service_unavailable_error",
))  # fmt: skip
"""Types and codes of errors that pass."""


async def repeated(make: Callable[[], AsyncIterator[T]], retries: int, *, shown: bool = True) -> AsyncIterator[T]:
    """The items of a stream; of another one when it breaks before its first item, at most `retries` times.

    With `shown=False` no item is seen before the end, and the stream is repeated wherever it breaks: the items
    of a broken one are part of the result.
    """
    for attempt in range(retries + 1):
        begun = False
        try:
            async for item in make():
                begun = True
                yield item
            return
        except Exception as error:
            if attempt == retries or (begun and shown) or not passes(error):
                raise
            pause = pause_before(attempt, error)
        await asyncio.sleep(pause)


def passes(error: Exception) -> bool:
    """Return true for the failure of an accepted request that may succeed when it is repeated."""
    if isinstance(error, StreamCutOff):
        return True
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:  # the SDK has repeated the request itself
        return False
    return not _BUSY.isdisjoint(_names(getattr(error, "body", None)))


def pause_before(attempt: int, error: Exception) -> float:
    """Return the seconds to wait before a repetition: those the server asks for, else a random number (full jitter)."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        asked = float(headers.get("retry-after", ""))
    except ValueError:
        asked = -1.0
    if 0 <= asked <= LONGEST_ASKED:
        return asked
    return random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt))


def retries_of(client: Any) -> int:  # Any: a client of whatever SDK, or a substitute for one
    """Return the number of repetitions that a client is set to."""
    found = getattr(client, "max_retries", 0)
    return found if type(found) is int and found > 0 else 0


# Any: the body of an error, JSON.
def _names(body: Any) -> set[str]:
    if not isinstance(body, dict):
        return set()
    inner = body.get("error")
    found = inner if isinstance(inner, dict) else body
    return {value for name in ("type", "code") if isinstance(value := found.get(name), str)}
