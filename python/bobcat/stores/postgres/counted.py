"""A connection to PostgreSQL that counts its statements and commits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from bobcat.stores.traffic import Traffic


class CountedConnection(psycopg.AsyncConnection[Any]):  # Any: rows are tuples of columns
    """The connection of a store. Each statement outside of a transaction and of a pipeline has its own commit."""

    traffic = Traffic()
    """The counters of the store, from when the connection is in use."""
    _in_pipeline = False

    async def execute(self, *args: Any, **options: Any) -> psycopg.AsyncCursor[Any]:  # Any: those of psycopg
        """Execute a statement, and count it."""
        cursor = await super().execute(*args, **options)
        alone = not self._in_pipeline and self.pgconn.transaction_status == TransactionStatus.IDLE
        self.traffic.add(statements=1, commits=int(alone))
        return cursor

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[psycopg.AsyncPipeline]:
        """A pipeline, which is one transaction."""
        self._in_pipeline = True
        try:
            async with super().pipeline() as pipeline:
                yield pipeline
        finally:
            self._in_pipeline = False
        self.traffic.add(commits=1)

    @asynccontextmanager
    async def transaction(self, *args: Any, **options: Any) -> AsyncIterator[psycopg.AsyncTransaction]:
        """A transaction, or a part of one."""
        outermost = self.pgconn.transaction_status == TransactionStatus.IDLE
        async with super().transaction(*args, **options) as transaction:
            yield transaction
        self.traffic.add(commits=int(outermost))
