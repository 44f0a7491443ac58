"""The tools of the demo: they really touch a directory, a subprocess and a database, and nothing outside of them."""

from __future__ import annotations

import asyncio
import shlex
import sqlite3
from pathlib import Path

from bobcat import ToolSet, shadow, tool
from bobcat.shadows import delete_file_shadow, http_shadow


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

    @tool(scope=("files:write",))
    async def write_file(path: str, content: str) -> str:
        """Write a file in the workspace."""
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
        return f"{len(content)} characters in {path}"

    @tool(scope=("files:write",), reversible=False)
    async def delete_file(path: str) -> str:
        """Delete a file of the workspace."""
        (root / path).unlink()
        return f"{path} is gone"

    @shadow(delete_file)
    async def preview_delete(path: str) -> object:
        preview = await delete_file_shadow(str(root / path))
        return {**preview, "would_delete": path}

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

    return ToolSet.from_functions(shell, write_file, delete_file, http, query, deploy)
