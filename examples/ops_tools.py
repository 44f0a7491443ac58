"""The tools of the demo: they really touch files, a subprocess and a database. Files are those of a provider."""

from __future__ import annotations

import asyncio
import shlex
import sqlite3
from pathlib import Path

from bobcat import ToolSet, shadow, tool
from bobcat.providers import files
from bobcat.shadows import http_shadow


def ops_tools(root: Path, database: sqlite3.Connection) -> ToolSet:
    """The tools an operations agent gets, bound to one directory and one database."""

    @tool(scope=("shell",), reversible=False)
    async def shell(cmd: str) -> str:
        """Run one program in the workspace."""
        process = await asyncio.create_subprocess_exec(
            *shlex.split(cmd), cwd=root, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        output, _ = await process.communicate()
        return output.decode(errors="replace").strip()

    @tool(scope=("network",), reversible=False)
    async def http(method: str, url: str, body: str = "") -> str:
        """Send an HTTP request. This demo has no network, so only its preview ever runs."""
        raise ConnectionError(f"no network here for {method} {url}")

    shadow(http)(http_shadow)

    @tool(scope=("database",))
    async def query(sql: str) -> list[tuple[object, ...]]:
        """Run one SQL statement."""
        with database:
            return database.execute(sql).fetchall()

    @tool(scope=("deploy",), reversible=False, cost="high", blast_radius_hint=3)
    async def deploy(service: str, version: str) -> str:
        """Put a version of a service into service."""
        with database:
            database.execute("UPDATE services SET version = ? WHERE name = ?", (version, service))
        (root / f"{service}.version").write_text(version)
        return f"{service} is at {version}"

    return ToolSet.from_functions(shell, http, query, deploy).union(files(root, base=root))
