"""Preview of SQL: its statements, the tables they access, and destructive effects.

The text is parsed, never sent: a database that is asked to `EXPLAIN` a text may run it (`EXPLAIN ANALYZE`, a second
statement), so a live connection is never used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from bobcat.shadows.sql_syntax import Token, statements

_SAFE = frozenset(
    "SELECT VALUES TABLE SHOW DESCRIBE DESC EXPLAIN BEGIN START COMMIT END ROLLBACK SAVEPOINT RELEASE INSERT CREATE "
    "USE".split()
)
_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "TRUNCATE", "DROP", "ALTER"})
_BEFORE_TABLE = frozenset({"FROM", "INTO", "UPDATE", "TABLE", "JOIN", "USING", "TRUNCATE", "COPY"})
_SEVERAL = frozenset({"FROM", "UPDATE", "TABLE", "TRUNCATE"})
_FILLERS = frozenset({"ONLY", "IF", "EXISTS", "NOT", "TABLE", "LATERAL", "OR", "IGNORE", "LOW_PRIORITY"})
_NO_TABLE = frozenset({"SELECT", "SET", "WHERE", "VALUES", "BY", "ON", "AS", "NOTHING", "OF", "OUTFILE", "DUMPFILE"})
_NO_CALL = frozenset(
    "ALL AND ANY AS BETWEEN BY CASE CHECK CONFLICT DISTINCT ELSE EXCEPT EXISTS FILTER FROM GROUP HAVING IN INTERSECT "
    "INTO IS JOIN KEY LATERAL LIKE LIMIT MATERIALIZED NOT OFFSET ON OR ORDER OVER PARTITION RECURSIVE REFERENCES "
    "RETURNING SELECT SET SOME TABLE THEN UNION UNIQUE UPDATE USING VALUES WHEN WHERE WITH WITHIN".split()
)


@dataclass(slots=True)
class _Statement:
    """One parsed statement."""

    operation: str
    destructive: bool
    where: bool
    limit: int | None = None
    calls: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)


# Any: previews are JSON objects for people to read, and a connection is any database driver's.
async def sql_shadow(query: str, conn: Any = None) -> dict[str, Any]:
    """Preview running `query`. `conn` is accepted because tools take one, but not used.

    `operation` is that of the first destructive statement, or else of the first statement. An unknown kind of statement
    counts as destructive, and so does an `INSERT` that changes existing rows. The effects of a function cannot
    be inferred from its name: called functions are listed under `calls`.
    """
    found = _read(query, backslash_escapes=False)
    if "\\" in query and not any(statement.destructive for statement in found):
        found = _read(query, backslash_escapes=True)
    main = next((statement for statement in found if statement.destructive), found[0] if found else None)
    filtered = [s for s in found if s.operation in ("UPDATE", "DELETE")] or found
    preview: dict[str, Any] = {
        "operation": main.operation if main else "UNKNOWN",
        "tables": sorted(set().union(*(statement.tables for statement in found))),
        "has_where_clause": bool(filtered) and all(statement.where for statement in filtered),
        "limit": main.limit if main else None,
        "destructive": any(statement.destructive for statement in found),
        "statements": [statement.operation for statement in found],
        "calls": sorted(set().union(*(statement.calls for statement in found))),
        "would_run": query,
        "note": "preview only: nothing was sent to a database",
    }
    if main is not None and main.destructive and not main.where:
        preview["warning"] = f"{main.operation} without a WHERE clause: it affects everything in {preview['tables']}"
    if conn is not None:
        preview["explain_error"] = "not asked: a database may run what it is asked to explain"
    return preview


def _read(query: str, *, backslash_escapes: bool) -> list[_Statement]:
    return [_read_statement(tokens) for tokens in statements(query, backslash_escapes=backslash_escapes)]


def _read_statement(tokens: list[Token]) -> _Statement:
    operation = _operation(tokens)
    words = [token.text for token in tokens if token.kind == "word"]
    hidden = _hidden_write(tokens)
    if hidden is not None and operation in ("SELECT", "EXPLAIN", "WITH", "UNKNOWN"):
        operation = hidden
    outer = [token for token in tokens if token.depth == 0]
    destructive = operation not in _SAFE or (hidden is not None and hidden != "INSERT")
    if operation in ("SELECT", "TABLE") and "INTO" in words:
        destructive = True
    if operation == "CREATE" and "REPLACE" in words[:3]:
        destructive = True
    if operation == "INSERT" and _overwrites(words):
        destructive = True
    where = any(token.kind == "word" and token.text == "WHERE" for token in (outer if operation != hidden else tokens))
    return _Statement(operation, destructive, where, _limit(outer), _calls(tokens), _tables(tokens))


def _overwrites(words: list[str]) -> bool:
    """Return true if an `INSERT` changes existing rows: on a conflict, or by replacing them."""
    behind = {*pairwise(words)}
    return not behind.isdisjoint({("DO", "UPDATE"), ("KEY", "UPDATE"), ("OR", "REPLACE"), ("INSERT", "OVERWRITE")})


def _calls(tokens: list[Token]) -> set[str]:
    """Return the called functions: names directly before a parenthesis, except tables and keywords."""
    found: set[str] = set()
    for index, (token, after) in enumerate(pairwise(tokens)):
        before = tokens[index - 1].text if index else ""
        named = token.kind == "name" or (token.kind == "word" and token.text not in _NO_CALL)
        if named and after.text == "(" and before not in ("INTO", "TABLE", "WITH", "INDEX", "KEY"):
            found.add(token.spelling)
    return found


def _operation(tokens: list[Token]) -> str:
    """Return the verb of a statement: its first word, or after `WITH`, the first verb outside parentheses."""
    words = [token for token in tokens if token.kind == "word"]
    if not words:
        return "UNKNOWN"
    first = words[0].text
    if first != "WITH":
        return first
    verbs = _WRITES | {"SELECT", "VALUES", "TABLE"}
    return next((word.text for word in words if word.depth == 0 and word.text in verbs), "WITH")


def _hidden_write(tokens: list[Token]) -> str | None:
    """Return a write other than the statement's own verb: in a `WITH (...)`, or after `EXPLAIN ANALYZE`."""
    words = [token.text for token in tokens if token.kind == "word"]
    if words[:1] == ["EXPLAIN"]:
        return next((word for word in words[1:] if word in _WRITES), None) if "ANALYZE" in words else None
    for before, token in pairwise(tokens):
        opens = before.kind == "mark" and before.text == "("
        if opens and token.kind == "word" and token.text in _WRITES - {"REPLACE"}:
            return token.text
    return None


def _limit(outer: list[Token]) -> int | None:
    for token, after in pairwise(outer):
        if token.kind == "word" and token.text == "LIMIT" and after.kind == "number" and after.text.isdigit():
            return int(after.text)
    return None


def _tables(tokens: list[Token]) -> set[str]:
    """Return the table names as spelled, excluding names of `WITH`."""
    found: set[str] = set()
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.kind != "word" or token.text not in _BEFORE_TABLE:
            continue
        if token.text == "UPDATE" and at > 1 and tokens[at - 2].text in ("KEY", "DO", "FOR"):
            continue
        while at < len(tokens) and tokens[at].kind == "word" and tokens[at].text in _FILLERS:
            at += 1
        name, at = _name(tokens, at)
        while name is not None:
            found.add(name)
            at = _skip_alias(tokens, at)
            if not (token.text in _SEVERAL and at < len(tokens) and tokens[at].text == ","):
                break
            name, at = _name(tokens, at + 1)
    return found - _with_names(tokens)


def _name(tokens: list[Token], at: int) -> tuple[str | None, int]:
    """Return a table name with its schema, from `at`; None if there is no name."""
    parts: list[str] = []
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "name" or (token.kind == "word" and token.text not in _NO_TABLE):
            parts.append(token.spelling)
            at += 1
            if at < len(tokens) and tokens[at].text == ".":
                at += 1
                continue
        break
    return (".".join(parts), at) if parts else (None, at)


def _skip_alias(tokens: list[Token], at: int) -> int:
    if at < len(tokens) and tokens[at].text == "AS":
        at += 1
    follows = at + 1 < len(tokens) and tokens[at].kind in ("word", "name") and tokens[at + 1].text == ","
    return at + 1 if follows else at


def _with_names(tokens: list[Token]) -> set[str]:
    if not tokens or tokens[0].text != "WITH":
        return set()
    pairs = pairwise(tokens)
    return {
        name.spelling
        for name, after in pairs
        if name.depth == 0 and after.text == "AS" and name.kind in ("word", "name")
    }
