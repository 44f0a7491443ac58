"""Renewals of leases in Redis, over a connection of their own: the lease thread has another event loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bobcat.stores.codec import moment_of
from bobcat.stores.protocol import Lease

if TYPE_CHECKING:
    from bobcat.stores.redis.connection import RedisConnection

Leased = Callable[[Lease], tuple[Sequence[str], str, str, str]]


class RedisRenewals:
    """The `Renewals` of a store: one round trip for all leases, at the time of the server."""

    renewals_paused = False

    def __init__(self, connection: RedisConnection, leased: Leased) -> None:
        self._connection, self._leased = connection, leased

    async def renew_all(self, leases: Sequence[Lease], *, seconds: float) -> Sequence[Lease | None]:
        """Extend leases from now; None for a lost one."""
        span = str(int(seconds * 1e6))
        calls = [(keys, (*arguments, span)) for keys, *arguments in map(self._leased, leases)]
        found = await self._connection.run_many("renew", calls)
        return [
            None if expires is None else replace(lease, expires=moment_of(int(expires)))
            for lease, expires in zip(leases, found, strict=True)
        ]

    async def aclose(self) -> None:
        """Close the connection."""
        await self._connection.aclose()
