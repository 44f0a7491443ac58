"""Closing a client of an SDK."""

from __future__ import annotations

from typing import Any


async def close(client: Any) -> None:  # Any: a client of whatever SDK and release
    """Await the client's `close()`, or its `aclose()` where it has that name."""
    await (getattr(client, "close", None) or client.aclose)()
