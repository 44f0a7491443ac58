"""Generated statements of SQL: a grammar with names that are keywords somewhere, and edits of its tokens."""

# ruff: noqa: E501
from __future__ import annotations

import re
from random import Random

TABLES = ("a", "b", "secret", "conflict", "offset_t")
COLUMNS = ("i", "x", "y", "window", "offset", "key", "filter", "over")
FUNCTIONS = ("abs", "lower", "f", "g", "replace", "coalesce")
ALIASES = ("", "", "", "", "", " AS t1", " t2", " u", ' "Q q"', " AS window", " filter", " conflict", " key", " over")
POOL = (
    "SELECT FROM WHERE GROUP BY ORDER LIMIT OFFSET HAVING UNION ALL INTERSECT EXCEPT JOIN LEFT CROSS NATURAL ON USING WITH AS IN NOT"
    " EXISTS IS DISTINCT NULL CASE WHEN THEN ELSE END VALUES TABLE INTO FOR UPDATE WINDOW OVER FILTER RETURNING CONFLICT DO NOTHING"
    " SET AND OR LIKE BETWEEN CAST FETCH FIRST ROWS ONLY LATERAL RECURSIVE MATERIALIZED INDEXED ANY SOME a b secret conflict i x y f"
    " abs window offset filter over key ( ) ( ) ( ) , , , , . . * + = < || :: 1 2 'a' ? \"x\" \"secret\" 'secret' ; -- /* */ \n"
    " [ ] [1] [secret] ARRAY[1,2] [f](1)"
).split(" ")
TOKENS = re.compile(r"""\s+|'(?:[^']|'')*'|"[^"]*"|\w+|::|\|\||.""", re.DOTALL)


class Statements(Random):
    """Statements by a seed; `lite`: without what only PostgreSQL has, mostly."""

    def __init__(self, seed: int, *, lite: bool) -> None:
        super().__init__(seed)
        self.lite = lite

    def statement(self) -> str:
        text = self.choice((self.query, self.query, self.with_query, self.insert, self.update, self.delete))(3)
        for _ in range(self.choice((0, 0, 0, 1, 1, 1, 2, 3))):
            text = self.edited(text)
        return text

    def edited(self, text: str) -> str:
        """The text with a token inserted, removed, replaced, repeated or moved."""
        tokens = TOKENS.findall(text)
        at = self.randrange(len(tokens))
        match self.randrange(6):
            case 0 | 1:
                tokens.insert(at, f" {self.choice(POOL)} ")
            case 2:
                del tokens[at]
            case 3:
                tokens[at] = f" {self.choice(POOL)} "
            case 4:
                other = self.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case _:
                tokens.insert(
                    at,
                    self.choice(
                        (
                            f" , {self.table()} ",
                            f" FROM {self.table()} ",
                            f" IN {self.table()} ",
                            f" JOIN {self.table()} ",
                            f" UNION SELECT i FROM {self.table()} ",
                        )
                    ),
                )
        return "".join(tokens)

    def table(self) -> str:
        return self.choice(TABLES)

    def column(self) -> str:
        return self.choice(("", "", "", "", "", "", "a.", "t1.")) + self.choice(COLUMNS)

    def value(self, depth: int) -> str:
        if depth <= 0:
            return self.choice((self.column(), "1", "'a'", "NULL", "?"))
        one, two = self.value(depth - 2), self.value(depth - 2)
        return self.choice((
            self.column(), one, f"{one} + {two}", f"({one}, {two})", f"({self.query(depth - 1)})", f"EXISTS ({self.query(depth - 1)})",
            f"{self.choice(FUNCTIONS)}({one})", f"{self.choice(FUNCTIONS)}({one}, {two})", f"CASE WHEN {one} THEN {two} ELSE 1 END",
            f"{one} IN ({self.query(depth - 1)})", f"{one} IN ({one}, {two})", f"CAST({one} AS text)", f"{one} IS NOT DISTINCT FROM {two}",
            f"count(*) FILTER (WHERE {one})", f"sum({one}) OVER (PARTITION BY {two} ORDER BY i)", f"{one} BETWEEN 1 AND {two}",
            f"{one} LIKE 'a%' ESCAPE '!'", f"NOT {one}", f"{one} IS NULL", f"{one} = {two}", "current_date",
            "2" if self.lite else f"trim(BOTH 'a' FROM {one})",
        ))  # fmt: skip

    def source(self, depth: int) -> str:
        if depth > 0 and self.random() < 0.3:
            inner = self.choice(
                (
                    self.query(depth - 1),
                    f"{self.table()} CROSS JOIN {self.table()} AS z",
                    self.query(0) if self.lite else f"({self.query(depth - 2)})",
                )
            )
            return f"({inner})" + self.choice((" AS t3", " t4", ""))
        return self.table() + self.choice(ALIASES)

    def sources(self, depth: int) -> str:
        found = self.source(depth)
        while self.random() < 0.4:
            join = self.choice((", ", " JOIN ", " LEFT JOIN ", " CROSS JOIN ", " NATURAL JOIN "))
            found += join + self.source(depth)
            if join in (" JOIN ", " LEFT JOIN ", ", ") and self.random() < 0.6:
                found += self.choice((f" ON {self.value(1)}", " USING (i)", " ON a.i = t2.i"))
        return found

    def query(self, depth: int) -> str:
        if depth <= 0:
            return f"SELECT {self.choice(('i', '*', '1'))} FROM {self.table()}"
        text = f"SELECT {self.choice(('', '', 'DISTINCT ', 'ALL '))}{self.value(depth - 1)}{self.choice(('', ' AS n', ' n', ', *', ', i'))}"
        text += f" FROM {self.sources(depth - 1)}" if self.random() < 0.9 else ""
        for clause, chance in ((f" WHERE {self.value(depth - 1)}", 0.5), (" GROUP BY i, x", 0.1), (" WINDOW w AS (ORDER BY i)", 0.05),
                               (f" UNION {self.query(depth - 2)}", 0.1), (f" ORDER BY {self.value(1)}, 1", 0.2), (" LIMIT 5", 0.2),
                               (" LIMIT 1 OFFSET 1", 0.05), (" FOR UPDATE", 0 if self.lite else 0.05)):  # fmt: skip
            text += clause if self.random() < chance else ""
        return self.choice(
            (
                text,
                text,
                text,
                f"VALUES ({self.value(1)})",
                f"{text} UNION SELECT 1" if self.lite else f"({text}) UNION ALL ({self.query(depth - 2)})",
            )
        )

    def with_query(self, depth: int) -> str:
        recursive, name = self.choice(("", "", "RECURSIVE ")), self.choice(("c", "secret", "window", "b"))
        other = self.choice(("d", "a", "secret"))
        writes = (self.query,) if self.lite else (self.query, self.delete, self.insert)
        inner = self.choice(writes)(depth - 1)
        text = f"WITH {recursive}{name}{self.choice(('', '(i)'))} AS {self.choice(('', 'MATERIALIZED '))}({inner})"
        if self.random() < 0.5:
            text += f", {other} AS (SELECT i FROM {self.choice((name, other, 'secret'))})"
        main = self.choice((f"SELECT i FROM {name}, {self.table()}", f"SELECT * FROM {other} WHERE i IN (SELECT i FROM {name})",
                            self.query(depth - 1), self.insert(depth - 1), self.update(depth - 1), self.delete(depth - 1)))  # fmt: skip
        return f"{text} {main}"

    def returning(self) -> str:
        return self.choice(("", "", " RETURNING i", " RETURNING *, (SELECT max(i) FROM b)"))

    def insert(self, depth: int) -> str:
        rows = self.choice(
            (f"VALUES ({self.value(depth - 1)})", self.query(depth - 1), f"SELECT i FROM {self.sources(1)} WHERE true")
        )
        text = f"INSERT INTO {self.table()}{self.choice((' (i)', ' (i)', ''))} {rows}"
        if self.random() < 0.3:
            text += self.choice(
                (" ON CONFLICT DO NOTHING", " ON CONFLICT (i) DO UPDATE SET x = (SELECT max(i) FROM b)")
            )
        return text + self.returning()

    def update(self, depth: int) -> str:
        text = f"UPDATE {self.table()} SET x = {self.value(depth - 1)}"
        text += f" FROM {self.sources(depth - 1)}" if self.random() < 0.3 else ""
        return text + (f" WHERE {self.value(depth - 1)}" if self.random() < 0.6 else "") + self.returning()

    def delete(self, depth: int) -> str:
        text = f"DELETE FROM {self.table()}"
        text += f" USING {self.sources(depth - 1)}" if self.random() < 0.2 and not self.lite else ""
        return text + (f" WHERE {self.value(depth - 1)}" if self.random() < 0.6 else "") + self.returning()
