"""Defects of lynx-agent's shadows, row by row: a preview that has effects, and previews that guess."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat.shadows import http_shadow, shell_shadow, sql_shadow


def shell(cmd: str) -> dict[str, Any]:
    return asyncio.run(shell_shadow(cmd))


def sql(query: str, conn: Any = None) -> dict[str, Any]:
    return asyncio.run(sql_shadow(query, conn))


class Connection:
    """Any use of it is an effect."""

    def __getattr__(self, name: str) -> Any:
        pytest.fail(f"the preview used the connection: {name}")


@pytest.mark.parametrize("query", ["ANALYZE DELETE FROM users", "SELECT 1; DROP TABLE users", "SELECT 1"])
# lynx-agent defect 76
def test_a_sql_preview_sends_nothing_to_a_live_connection(query: str) -> None:
    preview = sql(query, Connection())
    assert "explain" not in preview
    assert preview["explain_error"] == "not asked: a database may run what it is asked to explain"


@pytest.mark.parametrize(
    ("cmd", "found"),
    [
        ("/bin/rm -rf /srv", ["rm"]),
        ("bash -c 'rm -rf /srv'", ["rm"]),
        ("dd if=/dev/zero of=/dev/sda", ["dd"]),
        ("trap 'rm x' EXIT", ["rm"]),
        ("ssh host 'rm x'", ["rm"]),
        ("su -c 'rm x' bob", ["rm"]),
        ("env -S 'rm x'", ["rm"]),
        ("watch 'rm x'", ["rm"]),
        ("flock lock rm x", ["rm"]),
        ("chroot /x rm y", ["rm"]),
        ("function f { rm x; }", ["rm"]),
        ("alias x='rm y'", ["rm"]),
        ("find . -exec ls {} \\; -exec rm {} \\;", ["rm"]),
        ("bash <<EOF\nrm x\nEOF", ["rm"]),
        ("bash <<-'EOF'\n\trm x\n\tEOF\nls", ["rm"]),
        ("cat <<EOF | sh\nrm x\nEOF", ["rm"]),
        ("sh <<< 'rm x'", ["rm"]),
        ("cat <<EOF\n$(rm x)\nEOF", ["rm"]),
        ("git push --force", ["git push --force"]),
        ("terraform destroy", ["terraform destroy"]),
    ],
)
# lynx-agent defect 77
def test_a_program_that_destroys_is_found_behind_others(cmd: str, found: list[str]) -> None:
    assert shell(cmd)["destructive_tokens"] == found


@pytest.mark.parametrize(
    "cmd",
    ["cat <<EOF\nrm x\nEOF", "cat <<'EOF'\n$(rm x)\nEOF", "cat <<A <<B\nrm x\nA\nrm y\nB\nls", "echo 'rm x'", "ls rm"],
)
# lynx-agent defect 77
def test_text_is_not_taken_for_commands(cmd: str) -> None:
    assert shell(cmd)["destructive_tokens"] == []


@pytest.mark.parametrize(
    ("cmd", "unresolved"),
    [
        ("{rm,x}", "program {rm,x}"),
        ("source x", "script x"),
        (". ./x", "script ./x"),
        ("python x.py", "script x.py"),
        ("psql -c 'DROP TABLE t'", "psql code"),
        ("awk '{system(\"rm x\")}'", "awk code"),
        ("docker run image rm x", "docker runs something inside a container"),
        ("bash <<EOF\nrm x", "unclosed <<EOF"),
    ],
)
# lynx-agent defect 77
def test_what_cannot_be_read_is_reported(cmd: str, unresolved: str) -> None:
    assert unresolved in shell(cmd)["unresolved"]


@pytest.mark.parametrize(
    ("cmd", "files"),
    [
        ("cp a b", ["b"]),
        ("mv -f a b dir", ["dir"]),
        ("sed -i s/a/b/ f g", ["f", "g"]),
        ("curl -o f https://x", ["f"]),
        ("cat <<EOF > out\ntext\nEOF", ["out"]),
        ("cp a", []),
    ],
)
# lynx-agent defect 77
def test_files_that_are_written_to_are_listed(cmd: str, files: list[str]) -> None:
    assert shell(cmd)["overwrites"] == files


@pytest.mark.parametrize(
    ("query", "operation", "where"),
    [
        ("WITH gone AS (DELETE FROM users RETURNING *) SELECT * FROM gone", "DELETE", False),
        ("/* tidy */ DELETE FROM users", "DELETE", False),
        ("DELETE FROM users -- WHERE id = 1", "DELETE", False),
        ("INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2", "INSERT", False),
        ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 2", "INSERT", False),
        ("INSERT OR REPLACE INTO t VALUES (1)", "INSERT", False),
    ],
)
# lynx-agent defect 77
def test_a_statement_that_destroys_is_one_however_it_is_written(query: str, operation: str, where: bool) -> None:
    preview = sql(query)
    assert (preview["operation"], preview["destructive"], preview["has_where_clause"]) == (operation, True, where)


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("UPDATE a, b SET a.x = 1", ["a", "b"]),
        ("TRUNCATE t, u", ["t", "u"]),
        ("DROP TABLE a, s.b CASCADE", ["a", "s.b"]),
        ("COPY t FROM '/x'", ["t"]),
        ("INSERT INTO t (a, b) VALUES (1, 2) ON DUPLICATE KEY UPDATE a = 2", ["t"]),
        ("SELECT * FROM t FOR UPDATE", ["t"]),
        ("SELECT * FROM t INTO OUTFILE '/x'", ["t"]),
    ],
)
# lynx-agent defect 77
def test_every_table_of_a_statement_is_listed(query: str, tables: list[str]) -> None:
    assert sql(query)["tables"] == tables


# lynx-agent defect 77
def test_functions_that_a_statement_calls_are_listed() -> None:
    query = 'SELECT count(*), pg_terminate_backend(pid) FROM t WHERE a IN (1) AND EXISTS (SELECT "f"(1))'
    assert sql(query)["calls"] == ["count", "f", "pg_terminate_backend"]
    assert sql("INSERT INTO t (a) VALUES (1)")["calls"] == []
    assert sql("CREATE TABLE t (a int)")["calls"] == []


# lynx-agent defect 77
def test_an_http_preview_shows_no_credential() -> None:
    headers = {"Proxy-Authorization": "s3cret", "X-Auth-Token": "s3cret", "Accept": "*/*"}
    preview = asyncio.run(http_shadow("GET", "https://bob:s3cret@host/x?api_key=s3cret&q=1", headers))
    assert "s3cret" not in str(preview)
    assert (preview["host"], preview["headers"]["Accept"]) == ("host", "*/*")
