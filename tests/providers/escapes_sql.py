"""Statements that must not run, and look-alikes that must, for `sql.query` and `sql.execute`.

The policy permits everything: what is contained is contained by the provider. Rows of both lists: an id, the
databases (`lite`, `postgres`), the tool, the statement, and the code of the error or the rows of the result.
"""

from __future__ import annotations

from typing import Any, NamedTuple

LITE, POSTGRES = ("lite",), ("postgres",)
BOTH = LITE + POSTGRES


class Row(NamedTuple):
    """A call and its outcome: a code, or rows."""

    id: str
    databases: tuple[str, ...]
    tool: str
    text: str
    expected: Any
    parameters: tuple[Any, ...] = ()


ESCAPES = [
    Row("stacked", BOTH, "query", "SELECT 1; DELETE FROM orders", "sql_statements"),
    Row("stacked-execute", BOTH, "execute", "UPDATE orders SET total = 0; DROP TABLE orders", "sql_statements"),
    Row("write-as-query", BOTH, "query", "DELETE FROM orders", "kind"),
    Row("returning", BOTH, "query", "DELETE FROM orders RETURNING id", "kind"),
    Row("writing-cte", BOTH, "query", "WITH x AS (DELETE FROM orders RETURNING id) SELECT * FROM x", "kind"),
    Row("select-into", BOTH, "query", "SELECT * INTO copied FROM orders", "kind"),
    Row("explain-analyze", BOTH, "query", "EXPLAIN ANALYZE DELETE FROM orders", "kind"),
    Row("backslash", BOTH, "query", "SELECT 'a\\'; DELETE FROM orders; -- '", "sql_string"),
    Row("executed-comment", BOTH, "query", "SELECT 1 /*! ; DELETE FROM orders */", "sql_comment"),
    Row("dollar-quote", BOTH, "query", "SELECT $$a$$", "sql_character"),
    Row("drop", BOTH, "execute", "DROP TABLE orders", "kind"),
    Row("create", BOTH, "execute", "CREATE TABLE more (id int)", "kind"),
    Row("commit", BOTH, "execute", "COMMIT", "kind"),
    Row("begin", BOTH, "query", "BEGIN", "kind"),
    Row("alias-that-is-none", BOTH, "query", "SELECT * FROM orders window, secrets", "sql_form"),
    Row("read-in-execute", BOTH, "execute", "SELECT * FROM orders", "kind"),
    Row("unknown-function", BOTH, "query", "SELECT own(1)", "function"),
    Row("function-in-execute", BOTH, "execute", "UPDATE orders SET total = own(1)", "function"),
    Row("lite-attach", LITE, "query", "ATTACH DATABASE 'other.sqlite3' AS other", "kind"),
    Row("lite-pragma", LITE, "query", "PRAGMA query_only = OFF", "kind"),
    Row("lite-pragma-function", LITE, "query", "SELECT * FROM pragma_query_only('0')", "function"),
    Row("lite-pragma-table", LITE, "query", "SELECT * FROM pragma_database_list", "database"),
    Row("lite-vacuum-into", LITE, "execute", "VACUUM INTO 'copy.sqlite3'", "kind"),
    Row("lite-load-extension", LITE, "query", "SELECT load_extension('x')", "function"),
    Row("lite-in-table", LITE, "query", "SELECT 1 WHERE 1 IN secrets", "sql_in"),
    Row("lite-quoted-table", LITE, "query", "SELECT * FROM 'secrets'", "sql_name"),
    Row("lite-schema", LITE, "execute", "UPDATE sqlite_master SET sql = ''", "database"),
    Row(
        "lite-endless",
        LITE,
        "query",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
        "timeout",
    ),
    Row(
        "lite-large-value",
        LITE,
        "query",
        "SELECT hex(group_concat(body)) FROM secrets, secrets s, secrets t",
        "database",
    ),
    Row("file", POSTGRES, "query", "SELECT pg_read_file('/etc/passwd')", "function"),
    Row("file-qualified", POSTGRES, "query", "SELECT pg_catalog.pg_read_file('/etc/passwd')", "function"),
    Row("file-table", POSTGRES, "query", "SELECT * FROM pg_ls_dir('/')", "function"),
    Row("copy-program", POSTGRES, "execute", "COPY orders TO PROGRAM 'cat > /tmp/escaped'", "kind"),
    Row("copy-file", POSTGRES, "query", "COPY orders TO '/tmp/escaped'", "kind"),
    Row("large-object", POSTGRES, "query", "SELECT lo_export(1, '/tmp/escaped')", "function"),
    Row("sequence", POSTGRES, "query", "SELECT nextval('numbers')", "function"),
    Row("settings", POSTGRES, "query", "SELECT set_config('transaction_read_only', 'off', false)", "function"),
    Row("set-role", POSTGRES, "execute", "SET ROLE postgres", "kind"),
    Row("do", POSTGRES, "execute", "DO 'BEGIN DELETE FROM orders; END'", "kind"),
    Row("call", POSTGRES, "execute", "CALL remove()", "kind"),
    Row("view-that-writes", POSTGRES, "query", "SELECT * FROM writing", "database"),
    Row("lock", POSTGRES, "query", "SELECT * FROM orders FOR UPDATE", "kind"),
    Row("sleep", POSTGRES, "query", "SELECT pg_sleep(60)", "function"),
    Row("sleeping-view", POSTGRES, "query", "SELECT * FROM sleeping", "timeout"),
    Row("query-in-text", POSTGRES, "query", "SELECT query_to_xml('SELECT * FROM secrets', true, true, '')", "function"),
    Row("field-that-is-a-call", POSTGRES, "query", "SELECT (o).own FROM orders o", "sql_form"),
    Row("not-the-role", POSTGRES, "query", "SELECT * FROM secrets", "database"),
    Row("call-in-an-array", POSTGRES, "query", "SELECT ARRAY[pg_read_file('/etc/passwd')]", "function"),
    Row("call-in-a-subscript", POSTGRES, "query", "SELECT (ARRAY[1])[length(pg_read_file('/etc/passwd'))]", "function"),
    Row("lite-call-in-brackets", LITE, "query", "SELECT DISTINCT [load_extension]('x')", "sql_form"),
    Row("prepared", POSTGRES, "execute", "PREPARE p AS DELETE FROM orders", "kind"),
    Row("list-as-parameter", BOTH, "query", "SELECT 1", "invalid", (["a"],)),
]

LOOKALIKES = [
    Row("query", BOTH, "query", "SELECT id, total FROM orders ORDER BY id", [[1, 5], [2, 7]]),
    Row("ended", BOTH, "query", "SELECT count(*) FROM orders;", [[2]]),
    Row("words-in-text", BOTH, "query", "SELECT 'DROP TABLE orders; -- '", [["DROP TABLE orders; -- "]]),
    Row("quote-in-text", BOTH, "query", "SELECT 'it''s'", [["it's"]]),
    Row("comment", BOTH, "query", "SELECT 1 -- ; DELETE FROM orders\n", [[1]]),
    Row("block-comment", BOTH, "query", "SELECT /* DELETE */ 2", [[2]]),
    Row("cte", BOTH, "query", "WITH x AS (SELECT id FROM orders) SELECT max(id) FROM x", [[2]]),
    Row("cte-named-delete", BOTH, "query", "WITH deleted AS (SELECT 1 AS n) SELECT n FROM deleted", [[1]]),
    Row("union", BOTH, "query", "SELECT 1 UNION SELECT 2 ORDER BY 1", [[1], [2]]),
    Row("subquery", BOTH, "query", "SELECT id FROM orders WHERE total > (SELECT min(total) FROM orders)", [[2]]),
    Row("quoted-names", BOTH, "query", 'SELECT "id" FROM "orders" AS "Of all" LIMIT 1', [[1]]),
    Row("case", BOTH, "query", "SELECT Upper('a'), CASE WHEN 1 = 1 THEN 'x' ELSE 'y' END", [["A", "x"]]),
    Row("replace-function", BOTH, "query", "SELECT replace('abc', 'b', '')", [["ac"]]),
    Row("null", BOTH, "query", "SELECT NULL", [[None]]),
    Row("update", BOTH, "execute", "UPDATE orders SET total = total + 1 WHERE id = 1", 1),
    Row("insert", BOTH, "execute", "INSERT INTO orders (id, total) VALUES (3, 9), (4, 9)", 2),
    Row("insert-select", BOTH, "execute", "INSERT INTO orders (id, total) SELECT id + 10, total FROM orders", 2),
    Row("delete", BOTH, "execute", "DELETE FROM orders WHERE id = 2", 1),
    Row("delete-returning", BOTH, "execute", "DELETE FROM orders RETURNING id", 2),
    Row("upsert", BOTH, "execute",
        "INSERT INTO orders (id, total) VALUES (1, 0) ON CONFLICT (id) DO UPDATE SET total = 0", 1),
    Row("lite-parameter", LITE, "query", "SELECT ? || 'b', ?", [["'; DROP TABLE orders; --b", 2.5]],
        ("'; DROP TABLE orders; --", 2.5)),
    Row("lite-bytes", LITE, "query", "SELECT picture FROM pictures", [[{"base64": "AP8="}]]),
    Row("lite-view", LITE, "query", "SELECT * FROM totals", [[12]]),
    Row("lite-replace", LITE, "execute", "REPLACE INTO orders (id, total) VALUES (1, 1)", 1),
    Row("parameter", POSTGRES, "query", "SELECT id FROM orders WHERE total = $1", [[2]], (7,)),
    Row("like", POSTGRES, "query", "SELECT 'a%b' LIKE 'a%', 5 % 3", [[True, 2]]),
    Row("array", POSTGRES, "query", "SELECT (ARRAY[3, 4])[2] FROM orders WHERE id = ANY(ARRAY[1])", [[4]]),
    Row("types", POSTGRES, "query",
        "SELECT 1.50::numeric, DATE '2024-01-02', CAST('{\"a\": [1]}' AS jsonb)", [["1.50", "2024-01-02", {"a": [1]}]]),
    Row("join", POSTGRES, "query", "SELECT a.id FROM orders a JOIN orders b USING (id) WHERE a.id = $1::int"
        .replace("$1::int", "CAST($1 AS int)"), [[1]], ("1",)),
]  # fmt: skip
