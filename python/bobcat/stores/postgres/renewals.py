"""Renewals of leases in PostgreSQL, over a connection of their own: the lease thread has another event loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING, Any

from bobcat.stores.protocol import Lease

if TYPE_CHECKING:
    from bobcat.stores.postgres.connection import PostgresConnections
    from bobcat.stores.postgres.pool import Connection


class PostgresRenewals:
    """The `Renewals` of a store: one statement for all leases, at the time of the database."""

    renewals_paused = False

    def __init__(self, connections: PostgresConnections, statements: Mapping[str, bytes]) -> None:
        self._connections, self._statements = connections, statements

    async def renew_all(self, leases: Sequence[Lease], *, seconds: float) -> Sequence[Lease | None]:
        """Extend leases from now; None for a lost one, and the same one for a run that is locked."""
        values: dict[str, Any] = {  # Any: the driver's own types
            "runs": [lease.run_id for lease in leases],
            "fences": [lease.fence for lease in leases],
            "owners": [lease.owner for lease in leases],
            "seconds": float(seconds),
        }

        async def work(connection: Connection) -> list[Lease | None]:
            rows = await connection.execute(self._statements["renew_all"], values)
            expires = {run_id: moment.astimezone(UTC) for run_id, moment in await rows.fetchall()}
            kept: set[str] = set()
            if len(expires) < len(leases):
                rows = await connection.execute(self._statements["leased"], values)
                kept = {run_id for (run_id,) in await rows.fetchall()}
            return [
                replace(lease, expires=expires[lease.run_id])
                if lease.run_id in expires
                else lease
                if lease.run_id in kept
                else None
                for lease in leases
            ]

        return await self._connections.do(work)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._connections.aclose()
