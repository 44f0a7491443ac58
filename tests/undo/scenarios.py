"""Changes whose process is killed: the tools, the call, and the state that it changes."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from bobcat import Policy, ToolSet
from bobcat.providers import files, sql
from undo.accounts import Accounts

POSTGRES = "BOBCAT_UNDO_POSTGRES"
"""Variable with the URL of the database whose tables the scenarios of PostgreSQL make."""
POLICY = Policy.compile("rules: [{id: undo, match: {declared.scope.contains: undo}, decision: allow}]")
Around = Callable[[Callable[..., Any]], Callable[..., Any]]


class Scenario:
    """One change. `prepare` makes the state before it."""

    tool: str
    args: dict[str, Any]

    def tools(self) -> ToolSet:
        raise NotImplementedError

    def state(self) -> Any:
        """Everything that the change changes, as JSON."""
        raise NotImplementedError

    def install(self, around: Around) -> None:
        """Put boundaries around further calls."""


class FileChange(Scenario):
    """A call of the files provider in a small tree."""

    def __init__(self, directory: Path, tool: str, **args: Any) -> None:
        self.root = directory / "root"
        self.tool, self.args = tool, args
        self.root.mkdir()
        (self.root / "a.txt").write_text("before " * 100)
        (self.root / "a.txt").chmod(0o640)
        os.utime(self.root / "a.txt", ns=(1_000_000_001, 2_000_000_002))
        (self.root / "b.txt").write_text("another\n")
        (self.root / "link").symlink_to("a.txt")
        (self.root / "empty").mkdir(mode=0o705)
        (self.root / "full").mkdir()
        (self.root / "full/inner").write_text("x")

    def tools(self) -> ToolSet:
        return files(self.root, base=self.root)

    def state(self) -> Any:
        found = {}
        for path in sorted(self.root.rglob("*")):
            if path.name.startswith(".bobcat-draft-"):  # of the provider
                continue
            content = os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else None
            found[str(path.relative_to(self.root))] = [stat.filemode(path.lstat().st_mode), content]
        return found


class Payment(Scenario):
    """A tool with an undo of its own."""

    tool = "pay"
    args = {"account": "alice", "amount": 30}  # noqa: RUF012  # never changed

    def __init__(self, directory: Path) -> None:
        self.accounts = Accounts(directory / "accounts.json")
        self.accounts.set("alice", 100)

    def tools(self) -> ToolSet:
        return self.accounts.tools()

    def state(self) -> Any:
        return {"alice": self.accounts.balance("alice")}

    def install(self, around: Around) -> None:
        self.accounts.set = around(self.accounts.set)  # type: ignore[method-assign]


class Statement(Scenario):
    """A statement of the provider of databases."""

    tool = "sql.execute"

    def __init__(self, directory: Path, statement: str) -> None:
        self.path = directory / "shop.db"
        self.args = {"database": "shop", "statement": statement}
        with closing(sqlite3.connect(self.path)) as connection:
            connection.executescript(
                "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, extra);"
                "INSERT INTO people VALUES (1, 'ann', 2.0), (2, 'bob', x'00'), (3, 'eve', NULL);"
            )

    def tools(self) -> ToolSet:
        return sql({"shop": self.path})

    def state(self) -> Any:
        with closing(sqlite3.connect(self.path)) as connection:
            return {str(row[0]): repr(row) for row in connection.execute("SELECT * FROM people")}

    def install(self, around: Around) -> None:
        class Ticking(sqlite3.Connection):
            execute = around(sqlite3.Connection.execute)

        connect = sqlite3.connect
        sqlite3.connect = lambda *args, **options: connect(*args, factory=Ticking, **options)  # type: ignore[assignment]


class ServerStatement(Scenario):
    """A statement of the provider of databases, on PostgreSQL."""

    tool = "sql.execute"

    def __init__(self, directory: Path, statement: str) -> None:
        self.url = os.environ[POSTGRES]
        self.args = {"database": "shop", "statement": statement}
        with psycopg.connect(self.url) as connection:
            connection.execute(
                "DROP TABLE IF EXISTS people, orders;"
                "CREATE TABLE people (id int PRIMARY KEY, name text, paid numeric);"
                "CREATE TABLE orders (id int PRIMARY KEY, person int REFERENCES people ON DELETE CASCADE);"
                "INSERT INTO people VALUES (1, 'ann', 2.0), (2, 'bob', 'NaN'), (3, 'eve', NULL);"
                "INSERT INTO orders VALUES (1, 2), (2, 3)"
            )

    def tools(self) -> ToolSet:
        return sql({"shop": self.url})

    def state(self) -> Any:
        with psycopg.connect(self.url) as connection:
            rows = "SELECT 'p' || id, p::text FROM people p UNION ALL SELECT 'o' || id, o::text FROM orders o"
            return dict(connection.execute(rows.encode()).fetchall())

    def install(self, around: Around) -> None:
        def boundaries(call: Callable[..., Any]) -> Callable[..., Any]:
            async def ticking(*args: Any, **options: Any) -> Any:
                boundary()
                found = await call(*args, **options)
                if call is commit:
                    boundary()
                return found

            return ticking

        boundary, commit = around(lambda: None), psycopg.AsyncConnection.commit
        psycopg.AsyncCursor.execute = boundaries(psycopg.AsyncCursor.execute)  # type: ignore[method-assign]
        psycopg.AsyncConnection.commit = boundaries(commit)  # type: ignore[method-assign]


SCENARIOS: dict[str, Callable[[Path], Scenario]] = {
    "write": lambda path: FileChange(path, "fs.write", path="a.txt", content="after " * 100),
    "write-new": lambda path: FileChange(path, "fs.write", path="new", content="after " * 100),
    "append": lambda path: FileChange(path, "fs.append", path="a.txt", content="after " * 100),
    "append-new": lambda path: FileChange(path, "fs.append", path="new", content="after " * 100),
    "delete": lambda path: FileChange(path, "fs.delete", path="a.txt"),
    "delete-link": lambda path: FileChange(path, "fs.delete", path="link"),
    "delete-directory": lambda path: FileChange(path, "fs.delete", path="empty"),
    "move": lambda path: FileChange(path, "fs.move", path="a.txt", to="moved"),
    "move-over": lambda path: FileChange(path, "fs.move", path="a.txt", to="b.txt", overwrite=True),
    "move-directory": lambda path: FileChange(path, "fs.move", path="full", to="moved"),
    "mkdir": lambda path: FileChange(path, "fs.mkdir", path="made"),
    "mkdir-parents": lambda path: FileChange(path, "fs.mkdir", path="x/y/z", parents=True),
    "function": Payment,
    "insert": lambda path: Statement(path, "INSERT INTO people (id, name) VALUES (7, 'new'), (8, 'newer')"),
    "update": lambda path: Statement(path, "UPDATE people SET name = 'all'"),
    "postgres-update": lambda path: ServerStatement(path, "UPDATE people SET name = 'all', paid = 2.00"),
    "postgres-delete": lambda path: ServerStatement(path, "DELETE FROM people WHERE id > 1"),
    "postgres-key": lambda path: ServerStatement(path, "UPDATE people SET id = 9 WHERE id = 1"),
    "delete-rows": lambda path: Statement(path, "DELETE FROM people WHERE id > 1"),
}
