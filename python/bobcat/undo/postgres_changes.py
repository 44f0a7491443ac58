"""Changes of rows in a PostgreSQL database, captured by triggers that live as long as the transaction.

The tables are those that the server's own plan of the statement changes, and what foreign keys with actions reach. The
server's counts of changed rows tell whether the triggers have seen all. Writers to the tables wait for the transaction.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from bobcat.errors import UndoError
from bobcat.text.display import safe_text
from bobcat.undo.postgres_tables import Connection, Modes, ServerTable, described, reached
from bobcat.undo.row_snapshot import Cells, Key, Rows, note

SETTINGS = {
    "search_path": "pg_catalog, pg_temp",
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "3",
    "lc_monetary": "C",
    "xmloption": "content",
}
"""Settings under which a value has one text."""
_CHANGES = ("Insert", "Update", "Delete")
_COUNTS = b"""
SELECT relid::bigint, pg_catalog.format('%I.%I', schemaname, relname), n_tup_ins + n_tup_upd + n_tup_del
FROM pg_catalog.pg_stat_xact_user_tables WHERE n_tup_ins + n_tup_upd + n_tup_del > 0
"""

Moves = list[tuple[str, Cells, Cells]]
"""Rows whose keys changed: the table, and the keys before and after."""


async def tables_that_change(connection: Connection, statement: str, parameters: Sequence[Any]) -> Modes:
    """Return what the server's plan of a statement changes. The locks of planning are released."""
    query = f"EXPLAIN (VERBOSE, FORMAT JSON, COSTS OFF) {statement}".encode()
    await connection.execute(b"SAVEPOINT bobcat_plan")
    row = await (await connection.execute(query, tuple(parameters))).fetchone()
    found: Modes = {}
    for schema, name, modes in _changes(row[0] if row else []):
        named = b"SELECT pg_catalog.format('%I.%I', $1::text, $2::text)::regclass::oid::bigint"
        table = await (await connection.execute(named, (schema, name))).fetchone()
        found.setdefault(int(table[0]) if table else 0, set()).update(modes)
    await connection.execute(b"ROLLBACK TO SAVEPOINT bobcat_plan")
    return found


class ServerCapture:
    """The changes of one transaction. `begin` comes before the statement, `collect` after it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._name = f"bobcat_undo_{secrets.token_hex(8)}"
        self.tables: list[ServerTable] = []

    async def begin(self, changed: Modes) -> None:
        """Capture changes of these tables, and of those that foreign keys reach."""
        execute = self._connection.execute
        row = await (
            await execute(
                b"SELECT pg_catalog.current_setting('track_counts')::bool, pg_catalog.has_database_privilege("
                b"pg_catalog.current_database(), 'TEMP')"
            )
        ).fetchone()
        if row is None or not row[0]:
            raise UndoError("no_snapshot", "the server does not count changes: an undo needs `track_counts = on`")
        if not row[1]:
            raise UndoError("no_snapshot", "the role needs TEMP on the database: GRANT TEMP ON DATABASE ...")
        await execute(
            f"CREATE TEMP TABLE {self._name} (seq bigint GENERATED ALWAYS AS IDENTITY, at int, old text[], new text[])"
            " ON COMMIT DROP".encode()
        )
        oids = sorted(await reached(self._connection, changed))  # one order of locks for all
        for oid in oids:
            table = await described(self._connection, oid)
            await execute(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE".encode())
        self.tables = [await described(self._connection, oid) for oid in oids]
        if sorted(await reached(self._connection, changed)) != oids:
            raise UndoError("busy", "the tables were changed meanwhile; try again")
        for at, table in enumerate(self.tables):
            await self._install(at, table)

    async def collect(self, max_bytes: int) -> tuple[Rows, Rows, Moves]:
        """Return the rows before and after, by key, in the order of the changes, and remove the triggers."""
        execute = self._connection.execute
        await execute(b"SET CONSTRAINTS ALL IMMEDIATE")
        for at in range(len(self.tables)):  # with its trigger, which only the owner of the table may drop
            await execute(f"DROP FUNCTION pg_temp.{self._name}_{at}() CASCADE".encode())
        size = f"""SELECT coalesce(sum(octet_length(array_to_string(coalesce(old, '{{}}') || new, ''))), 0)
            FROM pg_temp.{self._name}"""
        row = await (await execute(size.encode())).fetchone()
        if row is None or row[0] > max_bytes:
            raise UndoError("too_large", f"the rows that change have more than {max_bytes} bytes (max_bytes)")
        cursor = await execute(f"SELECT at, old, new FROM pg_temp.{self._name} ORDER BY seq".encode())
        changes = await cursor.fetchall()
        await self._refuse_others(changes)
        before: Rows = {}
        after: Rows = {}
        origins: dict[Key, Key] = {}
        for at, old, new in changes:
            table = self.tables[at]
            gone = None if old is None else (table.key_of(old), tuple(old))
            come = None if new is None else (table.key_of(new), tuple(new))
            note(before, after, gone, come)
            origin = None if gone is None else origins.pop(gone[0], gone[0])
            if come is not None and origin is not None:
                origins[come[0]] = origin
        moves = [(key[0], origin[1], key[1]) for key, origin in origins.items() if key != origin]
        return before, after, [move for move in moves if before[move[0], move[1]] is not None]

    async def _refuse_others(self, changes: list[Any]) -> None:  # Any: columns
        seen = [0] * len(self.tables)
        for at, _, _ in changes:
            seen[at] += 1
        known = {table.oid: seen[at] for at, table in enumerate(self.tables)}
        for oid, name, count in await (await self._connection.execute(_COUNTS)).fetchall():
            if not name.endswith(f".{self._name}") and count > known.get(oid, 0):
                text = f"the statement changes rows of `{safe_text(name)}` that no undo could restore"
                raise UndoError("no_snapshot", text)

    async def _install(self, at: int, table: ServerTable) -> None:
        function, tag = f"pg_temp.{self._name}_{at}", f"${self._name}$"
        sides = [
            f"IF TG_OP <> '{other}' THEN {side} := ARRAY[{', '.join(table.texts(row))}]::text[]; END IF;"
            for side, row, other in (("o", "OLD", "INSERT"), ("n", "NEW", "DELETE"))
        ]
        settings = " ".join(f"SET {name} = {value}" for name, value in _settings())
        execute = self._connection.execute
        await execute(
            f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER {settings} AS {tag}"
            f" DECLARE o text[]; n text[]; BEGIN {' '.join(sides)}"
            f" INSERT INTO pg_temp.{self._name} (at, old, new) VALUES ({at}, o, n); RETURN NULL; END {tag}".encode()
        )
        await execute(
            f"CREATE TRIGGER {self._name} AFTER INSERT OR UPDATE OR DELETE ON {table.name}"
            f" FOR EACH ROW EXECUTE FUNCTION {function}()".encode()
        )


async def settle_texts(connection: Connection) -> None:
    """Make the texts of values in this transaction those of `SETTINGS`."""
    for name, value in SETTINGS.items():
        await connection.execute(b"SELECT pg_catalog.set_config($1, $2, true)", (name, value))


def _settings() -> Iterator[tuple[str, str]]:
    for name, value in SETTINGS.items():
        yield name, value if name == "search_path" else f"'{value}'"


def _changes(plan: Any) -> Iterator[tuple[str, str, set[str]]]:  # Any: JSON
    """The schema, the name and the operations of each table that a plan changes."""
    if isinstance(plan, list):
        for each in plan:
            yield from _changes(each)
    elif isinstance(plan, dict):
        if plan.get("Node Type") == "ModifyTable":
            for target in plan.get("Target Tables") or [plan]:
                operation = plan.get("Operation")
                modes = {operation} if operation in _CHANGES else set(_CHANGES)
                if plan.get("Conflict Resolution") == "UPDATE":
                    modes.add("Update")
                yield target["Schema"], target["Relation Name"], modes
        for value in plan.values():
            if isinstance(value, (list, dict)):
                yield from _changes(value)
