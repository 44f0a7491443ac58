"""The databases as oracles: the tables and functions that a statement touches."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from bobcat._core import parse_facet
from sql.statements import COLUMNS, TABLES

OPERATORS = {"like", "glob", "regexp", "match", "->", "->>"}
"""Functions that SQLite calls for an operator."""


@dataclass
class Touched:
    """The names that a database reports."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    either: set[str] = field(default_factory=set)
    """Tables of which the database does not say whether they are read or written."""
    changes: bool = False

    def beyond(self, parts: dict[str, Any]) -> list[str]:
        """What the parts of a statement do not name."""
        if parts["tables"] is None:
            return []
        written, tables = set(parts["writes"]), set(parts["table_names"])
        found = [f"table {name}" for name in self.reads | self.writes | self.either if name not in tables]
        found += [f"write of {name}" for name in self.writes if name not in {each.split(".")[-1] for each in written}]
        found += [
            f"read of {name}" for name in self.reads if name not in {each.split(".")[-1] for each in parts["reads"]}
        ]
        if parts["functions"] is not None:
            found += [f"function {name}" for name in self.functions - set(parts["function_names"])]
        if parts["kinds"] == ["select"] and (self.changes or self.writes):
            found.append("a change")
        return found


def parsed(text: str) -> dict[str, Any] | None:
    """The parts of a statement, or None if it is undecidable."""
    found, problem = parse_facet("sql", text)
    if found is None:
        code, at, detail = problem or ("", 0, "")
        assert code.startswith("sql_")
        assert 0 <= at <= len(text)
        assert detail
        return None
    parts: dict[str, Any] = json.loads(found)
    return parts


class Lite:
    """SQLite: the authorizer reports what a statement reads, writes and calls, and its code the trees that it opens.

    A read of no column is left to the code: the authorizer reports it for common table expressions, too.
    """

    _CHANGES = frozenset(range(1, 31)) - {sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION}

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        for table in TABLES:
            columns = ", ".join(f'"{name}"' for name in COLUMNS)
            self.connection.execute(f"CREATE TABLE {table} ({columns}, UNIQUE (i))")
        for name in (
            "f",
            "g",
            "any",
            "some",
            "cube",
            "sets",
            "by",
            "set",
            "row",
            "over",
            "filter",
            "window",
            "key",
            "conflict",
        ):
            self.connection.create_function(name, -1, lambda *values: len(values))
        rows = self.connection.execute("SELECT rootpage, tbl_name FROM sqlite_master")
        self.trees: dict[int, str] = dict(rows.fetchall()) | {1: "sqlite_master"}

    def touched(self, text: str) -> Touched | None:
        """What a statement touches; None if SQLite does not accept it."""
        found = Touched()

        def authorize(action: int, one: str | None, two: str | None, base: str | None, inner: str | None) -> int:
            if action == sqlite3.SQLITE_READ and two == "":
                pass
            elif action == sqlite3.SQLITE_READ:
                found.reads.add(str(one).lower())
            elif action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE):
                found.writes.add(str(one).lower())
            elif action == sqlite3.SQLITE_FUNCTION:
                found.functions.add(str(two).lower())
            elif action in self._CHANGES:
                found.changes = True
            return sqlite3.SQLITE_OK

        self.connection.set_authorizer(authorize)
        try:
            code = self.connection.execute(f"EXPLAIN {text}", [1] * text.count("?")).fetchall()
        except (sqlite3.Error, sqlite3.Warning):
            return None
        finally:
            self.connection.set_authorizer(None)
        found.functions -= OPERATORS
        opened = {(row[1], row[3]) for row in code if row[1] in ("OpenRead", "OpenWrite") and row[4] == 0}
        found.reads |= {self.trees[page] for operation, page in opened if operation == "OpenRead"}
        found.writes |= {self.trees[page] for operation, page in opened if operation == "OpenWrite"}
        return found


class Postgres:
    """PostgreSQL: the body of a function is parsed, and what it depends on is recorded."""

    _DEPENDS = """
        SELECT d.refclassid = 'pg_class'::regclass, coalesce(c.relname, p.proname)
        FROM pg_depend d LEFT JOIN pg_class c ON d.refclassid = 'pg_class'::regclass AND c.oid = d.refobjid
        LEFT JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
        WHERE d.classid = 'pg_proc'::regclass AND d.objid = 'bobcat_test_sql.probe'::regproc
          AND d.refclassid IN ('pg_class'::regclass, 'pg_proc'::regclass)
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        for table in TABLES:
            columns = ", ".join(f'"{name}" int' for name in COLUMNS)
            connection.execute(f"CREATE TABLE {table} ({columns}, UNIQUE (i))".encode())
        for name in (
            "f",
            "g",
            "lower",
            "replace",
            "by",
            "set",
            "sets",
            "over",
            "filter",
            "key",
            "conflict",
            "is",
            "left",
            "like",
            "cube",
        ):
            for arguments in ("int", "int, int"):
                connection.execute(
                    f"CREATE FUNCTION \"{name}\"({arguments}) RETURNS int LANGUAGE sql AS 'SELECT 1'".encode()
                )

    @classmethod
    @contextmanager
    def opened(cls, url: str) -> Iterator[Postgres]:
        """In a schema that is rolled back."""
        with psycopg.connect(url) as connection:
            connection.execute("CREATE SCHEMA bobcat_test_sql")
            connection.execute("SET LOCAL search_path = bobcat_test_sql")
            yield cls(connection)
            connection.rollback()

    def touched(self, text: str) -> Touched | None:
        """What a statement depends on; None if PostgreSQL does not accept it in a function."""
        found = Touched()
        numbered = text.replace("?", "$1").rstrip().rstrip(";")
        created = f"CREATE FUNCTION probe(int) RETURNS SETOF record BEGIN ATOMIC {numbered}\n; END"
        try:
            with self.connection.transaction(force_rollback=True):
                for returns in ("SETOF record", "void"):
                    try:
                        with self.connection.transaction():
                            self.connection.execute(created.replace("SETOF record", returns).encode())
                        break
                    except psycopg.errors.InvalidFunctionDefinition:
                        continue
                rows = self.connection.execute(self._DEPENDS).fetchall()
        except psycopg.Error:
            return None
        for is_table, name in rows:
            (found.either if is_table else found.functions).add(name)
        return found
