"""Rules about SQL: statements, tables, limits."""

import re

from bobcat import allow, deny, dry_run, transform

READS = ("select", "show", "explain", "with")
WRITES = re.compile(r"^\s*(insert|update|delete|merge)\b", re.IGNORECASE)
DDL = re.compile(r"\b(drop|truncate|alter)\s+(table|schema|database)\b", re.IGNORECASE)
LIMIT = re.compile(r"\blimit\s+(\d+)\b", re.IGNORECASE)
TABLES = {"orders", "customers", "products"}


def read_only(req, ctx):
    if req.tool != "query":
        return None
    words = req.args["sql"].strip().lower().split(None, 1)
    return allow("reads") if words and words[0] in READS else deny("only reads are allowed")


def no_ddl(req, ctx):
    return deny("structure stays") if DDL.search(req.args.get("sql", "")) else None


def where_needed(req, ctx):
    sql = req.args.get("sql", "")
    if WRITES.match(sql) and " where " not in f" {sql.lower()} ":
        return deny("a write without WHERE")


def one_statement(req, ctx):
    statements = [part for part in req.args.get("sql", "").split(";") if part.strip()]
    if len(statements) > 1:
        return deny(f"{len(statements)} statements")
    return None


def add_limit(req, ctx):
    sql = req.args["sql"]
    if req.tool == "query" and LIMIT.search(sql) is None:
        return transform({**req.args, "sql": sql.rstrip("; ") + " LIMIT 100"}, reason="at most 100 rows")
    return None


def small_limit(req, ctx):
    if found := LIMIT.search(req.args.get("sql", "")):
        rows = int(found.group(1))
        if rows > 1000:
            return deny(f"{rows} rows")
    return None


def table_after(words, keyword):
    for index, word in enumerate(words):
        if word == keyword and index + 1 < len(words):
            return words[index + 1].strip("`\"'")
    return None


def known_tables(req, ctx):
    words = req.args.get("sql", "").lower().split()
    table = table_after(words, "from") or table_after(words, "into") or table_after(words, "update")
    if table is not None and table not in TABLES:
        return deny(f"no access to {table}")


def writes_in_production(req, ctx):
    if ctx.environment == "prod" and WRITES.search(req.args["sql"]):
        return dry_run("writes are rehearsed in prod")


def no_comments(req, ctx):
    sql: str = req.args.get("sql", "")
    assert isinstance(sql, str), "sql must be text"
    return deny("comments hide things") if "--" in sql or "/*" in sql else None


class Guard:
    """A rule with its own settings."""

    def __init__(self, forbidden):
        self.forbidden = tuple(forbidden)

    def words_in(self, sql):
        return [word for word in sql.lower().split() if word in self.forbidden]

    def check(self, req, ctx):
        words = self.words_in(req.args.get("sql", ""))
        return deny(f"forbidden: {words}") if words else None


guard = Guard(["grant", "revoke"]).check
