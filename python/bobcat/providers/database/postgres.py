"""Sessions of PostgreSQL: a connection and a transaction for each call. Needs `pip install 'bobcat[postgres]'`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bobcat.errors import ToolError
from bobcat.providers.database.limits import SqlLimits
from bobcat.providers.database.statement import Parsed
from bobcat.providers.database.values import Rows, Value
from bobcat.undo.postgres_rollback import Server
from bobcat.undo.sql import current_server_watch

if TYPE_CHECKING:
    import psycopg

_GRACE_SECONDS = 2.0
"""Time beyond the timeout of the server after which the client gives up."""


class Postgres:
    """A database of a server. `role` is the role that statements run as."""

    def __init__(self, name: str, url: str, limits: SqlLimits, role: str | None) -> None:
        import psycopg.conninfo

        self._name, self._url, self._limits, self._role = name, url, limits, role
        try:
            self._conninfo = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError as error:
            raise ValueError(f"the URL of the database `{name}` is invalid: {error}") from error

    @property
    def server(self) -> Server:
        """The place of the database."""
        return Server(self._url, self._role)

    def facts(self) -> dict[str, Value]:
        """The server that a call connects to."""
        known = self._conninfo
        server = f"{known.get('host', 'localhost')}:{known.get('port', 5432)}"
        return {"database": self._name, "server": server, "role": self._role or known.get("user")}

    async def run(self, parsed: Parsed, parameters: Sequence[Value], rows: int, *, write: bool) -> dict[str, Value]:
        """Run a statement in a transaction of its own, which is read-only unless it is to write."""
        import psycopg

        kept = Rows(SqlLimits(self._limits.seconds, rows, self._limits.characters))
        try:
            async with asyncio.timeout(self._limits.seconds + _GRACE_SECONDS):
                return await self._run(parsed, parameters, kept, write=write)
        except (TimeoutError, psycopg.errors.QueryCanceled) as error:
            raise ToolError(f"the statement was ended after {self._limits.seconds:g} s", "timeout") from error
        except psycopg.Error as error:
            text = str(error).strip().split("\n")[0]
            raise ToolError(f"the database refuses the statement: {text}", "database") from error

    async def _run(self, parsed: Parsed, parameters: Sequence[Value], kept: Rows, *, write: bool) -> dict[str, Value]:
        import psycopg

        connection = await psycopg.AsyncConnection.connect(
            self._url, cursor_factory=psycopg.AsyncRawCursor, connect_timeout=max(2, round(self._limits.seconds))
        )
        try:
            await connection.set_read_only(not write)
            await self._restrict(connection)
            cursor: Any = connection.cursor()  # Any: the generic type of rows
            if not write:
                stream = cursor.stream(parsed.text.encode(), tuple(parameters))
                try:
                    async for row in stream:
                        if not kept.add(row):
                            break
                finally:
                    await stream.aclose()
                return kept.result(_columns(cursor))
            watch = current_server_watch()
            if watch is not None:
                await watch.begin(connection, parsed.text, parsed.kinds, parameters)
            await cursor.execute(parsed.text.encode(), tuple(parameters), prepare=True)
            if cursor.description is not None:
                for row in await cursor.fetchall():
                    if not kept.truncated:
                        kept.add(row)
            result = {"rows_affected": max(cursor.rowcount, 0), **kept.result(_columns(cursor))}
            if watch is not None:
                await watch.before_commit(connection)
            await connection.commit()
            return result
        finally:
            await connection.close()

    async def _restrict(self, connection: psycopg.AsyncConnection[Any]) -> None:
        milliseconds = str(max(1, round(self._limits.seconds * 1_000)))
        settings = {
            "statement_timeout": milliseconds,
            "lock_timeout": milliseconds,
            "idle_in_transaction_session_timeout": str(int(milliseconds) + 10_000),
            "standard_conforming_strings": "on",
        }
        if self._role is not None:
            settings["role"] = self._role
        for name, value in settings.items():
            await connection.execute(b"SELECT set_config($1, $2, true)", (name, value))


def _columns(cursor: Any) -> list[str]:  # Any: as above
    return [str(column.name) for column in cursor.description or ()]
