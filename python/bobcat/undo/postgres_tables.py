"""Tables of PostgreSQL whose rows an undo can restore, and those that a change of a table reaches by foreign keys.

All functions work in the caller's transaction. A table that no undo can restore is refused with `UndoError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from bobcat.errors import UndoError
from bobcat.text.display import safe_text
from bobcat.undo.row_snapshot import Cells, quoted

if TYPE_CHECKING:
    import psycopg

Connection: TypeAlias = "psycopg.AsyncConnection[Any]"  # Any: columns
Modes: TypeAlias = dict[int, set[str]]
"""The operations on tables (`Insert`, `Update`, `Delete`) by their oid."""

_NEEDED = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRIGGER")
_ACTIONS = {"c": "cascade", "n": "set null", "d": "set default"}

_TABLE = b"""
SELECT c.oid::bigint, pg_catalog.format('%I.%I', s.nspname, c.relname), c.relkind::text, c.relispartition,
    c.relhassubclass, c.relhasrules, pg_catalog.row_security_active(c.oid),
    (SELECT t.tgname::text FROM pg_catalog.pg_trigger t
        WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled <> 'D' LIMIT 1),
    (SELECT i.indimmediate FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary),
    (SELECT pg_catalog.string_to_array(i.indkey::text, ' ')::int[] FROM pg_catalog.pg_index i
        WHERE i.indrelid = c.oid AND i.indisprimary),
    ARRAY(SELECT p FROM pg_catalog.unnest($2::text[]) p
        WHERE NOT pg_catalog.has_table_privilege(c.oid, p))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace WHERE c.oid = $1::bigint::oid
"""
_COLUMNS = b"""
SELECT a.attnum::int, a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attgenerated <> '',
    a.attidentity::text = 'a', s.nspname = 'pg_catalog' OR t.typtype IN ('e', 'd')
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    JOIN pg_catalog.pg_namespace s ON s.oid = t.typnamespace
WHERE a.attrelid = $1::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_KEYS = b"""
SELECT confrelid::bigint, conrelid::bigint, confdeltype::text, confupdtype::text
FROM pg_catalog.pg_constraint WHERE contype = 'f' AND confrelid = ANY($1::bigint[]::oid[])
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A stored column: its type as the present `search_path` names it.

    `numbered` is GENERATED ALWAYS AS IDENTITY. `compared` has an operator `=` that is found without a schema.
    """

    name: str
    type: str
    numbered: bool
    compared: bool


@dataclass(frozen=True, slots=True)
class ServerTable:
    """A table with a primary key. `name` is qualified and quoted; `key` has the positions of the key's columns."""

    oid: int
    name: str
    columns: tuple[Column, ...]
    key: tuple[int, ...]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def key_of(self, row: Cells) -> tuple[str, Cells]:
        """Return the key of a row."""
        return self.name, tuple(row[at] for at in self.key)

    def texts(self, source: str) -> list[str]:
        """Return expressions of the exact texts of the columns of `source`."""
        return [text_of(f"{source}.{quoted(column.name)}") for column in self.columns]


def text_of(value: str) -> str:
    """Return an expression of the exact text of a value, by its type's output function, or NULL."""
    return f"CASE WHEN pg_catalog.num_nulls({value}) = 0 THEN pg_catalog.format('%s', {value}) END"


async def described(connection: Connection, oid: int, *, changing: bool = True) -> ServerTable:
    """Return a table. Raises `UndoError` for one whose rows cannot be identified or, when `changing`, restored."""
    row = await (await connection.execute(_TABLE, (oid, list(_NEEDED)))).fetchone()
    if row is None:
        raise UndoError("conflict", "a table is gone")
    _, name, kind, part, parent, rules, secured, trigger, immediate, key, missing = row
    shown = safe_text(name)
    if kind != "r":
        raise _refused(f"`{shown}` is a view, or a partitioned or foreign table")
    if part or parent:
        raise _refused(f"the table `{shown}` is a partition or inherits, or others inherit from it")
    if key is None:
        raise _refused(f"the table `{shown}` has no primary key that would identify its rows")
    if not immediate:
        raise _refused(f"the primary key of the table `{shown}` is deferrable")
    if secured:
        raise _refused(f"the table `{shown}` has row security, which hides rows from the role")
    if changing and rules:
        raise _refused(f"the table `{shown}` has rules")
    if changing and trigger is not None:
        raise _refused(f"the table `{shown}` has the trigger `{safe_text(trigger)}`, whose effects no undo takes back")
    if changing and missing:
        raise _refused(f"the role needs {', '.join(missing)} on the table `{shown}`: GRANT {missing[0]} ON {shown}")
    numbers, columns = [], []
    for number, column, type, generated, numbered, compared in await _all(connection, _COLUMNS, (oid,)):
        if not generated:
            numbers.append(number)
            columns.append(Column(column, type, numbered, compared))
    if not set(key) <= set(numbers):
        raise _refused(f"the primary key of the table `{shown}` is generated")
    return ServerTable(oid, name, tuple(columns), tuple(numbers.index(number) for number in key))


async def reached(connection: Connection, changed: Modes) -> Modes:
    """Return the tables that a change can reach: those that change, and what foreign keys with actions do."""
    found: Modes = {oid: set(modes) for oid, modes in changed.items()}
    todo = list(found)
    while todo:
        following: list[int] = []
        for parent, child, deleting, updating in await _all(connection, _KEYS, (todo,)):
            modes: set[str] = set()
            if "Delete" in found[parent] and deleting in _ACTIONS:
                modes.add("Delete" if deleting == "c" else "Update")
            if "Update" in found[parent] and updating in _ACTIONS:
                modes.add("Update")
            if modes - found.get(child, set()):
                found.setdefault(child, set()).update(modes)
                following.append(child)
        todo = following
    return found


async def parents_first(connection: Connection, tables: Mapping[str, ServerTable]) -> list[str]:
    """Return the names of tables so that a table follows those that it refers to. Cycles keep their order."""
    names = {table.oid: name for name, table in tables.items()}
    parents: dict[str, set[str]] = {name: set() for name in tables}
    for parent, child, _, _ in await _all(connection, _KEYS, (list(names),)):
        if child in names and child != parent:
            parents[names[child]].add(names[parent])
    ordered: list[str] = []
    while parents:
        free = [name for name, above in parents.items() if above <= set(ordered)] or list(parents)[:1]
        ordered += free
        for name in free:
            del parents[name]
    return ordered


async def oid_of(connection: Connection, name: str) -> int:
    """Return the oid of a table by its qualified, quoted name. Raises `UndoError` for one that is not there."""
    row = await (await connection.execute(b"SELECT pg_catalog.to_regclass($1)::oid::bigint", (name,))).fetchone()
    if row is None or row[0] is None:
        raise UndoError("conflict", f"the table `{safe_text(name)}` is gone")
    return int(row[0])


async def _all(connection: Connection, query: bytes, values: Sequence[Any]) -> list[Any]:  # Any: values, rows
    return await (await connection.execute(query, values)).fetchall()


def _refused(reason: str) -> UndoError:
    return UndoError("no_snapshot", f"{reason}: no undo of the statement is possible")
