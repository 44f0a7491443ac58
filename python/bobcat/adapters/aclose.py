"""Closing a client of an SDK."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self


async def aclose(client: Any) -> None:  # Any: a client of whatever SDK and release
    """Await the client's `close()`, or its `aclose()` in SDKs that name it so."""
    await (getattr(client, "close", None) or client.aclose)()


class ClientOwner:
    """An agent that closes its client when it is closed itself, unless the client was passed in."""

    _own: Any  # Any: a client of whatever SDK and release
    _owns_client: bool

    async def aclose(self) -> None:
        """Close the client, if it is the agent's own."""
        if self._owns_client:
            await aclose(self._own)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
