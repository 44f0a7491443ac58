"""Definitions of the tools that read, with their dry-run twins."""

from __future__ import annotations

import asyncio

from bobcat.errors import ToolError
from bobcat.providers.filesystem.limits import FileLimits
from bobcat.providers.filesystem.paths import Roots
from bobcat.providers.filesystem.reading import Encoding, Result, describe, list_directory, read
from bobcat.tools.action import current_action, uses_action
from bobcat.tools.decorator import tool
from bobcat.tools.toolset import ToolSet

READ_SCOPE = ("fs:read",)


def reading_tools(roots: Roots, limits: FileLimits, *, hard_links: bool) -> ToolSet:
    """Make `fs.read`, `fs.list` and `fs.stat`. With `hard_links`, files with other names are read, too."""

    @tool(name="fs.read", scope=READ_SCOPE, effect="none")
    @uses_action
    async def fs_read(
        path: str, encoding: Encoding = "utf-8", offset: int = 0, max_bytes: int = limits.default_read_bytes
    ) -> Result:
        """Read a file: its text, or its bytes as base64. `next_offset` is where to go on when it is `truncated`."""
        _check_number("offset", offset, 0)
        _check_number("max_bytes", max_bytes, 1)
        place = roots.find(path, current_action())
        count = min(max_bytes, limits.read_bytes)
        return await asyncio.to_thread(read, place, encoding, offset, count, hard_links=hard_links)

    @tool(name="fs.list", scope=READ_SCOPE, effect="none")
    @uses_action
    async def fs_list(path: str, max_entries: int = limits.entries) -> Result:
        """List a directory: name, type and size of each entry, without what is further below."""
        _check_number("max_entries", max_entries, 1)
        place = roots.find(path, current_action(), directory=True)
        return await asyncio.to_thread(list_directory, place, min(max_entries, limits.entries))

    @tool(name="fs.stat", scope=READ_SCOPE, effect="none")
    @uses_action
    async def fs_stat(path: str) -> Result:
        """Type, size, permissions and time of change of a file or directory."""
        place = roots.find(path, current_action(), directory=True)
        return await asyncio.to_thread(describe, place)

    @fs_read.shadow
    async def would_read(path: str) -> Result:
        return await asyncio.to_thread(describe, roots.find(path))

    @fs_list.shadow
    @fs_stat.shadow
    async def would_describe(path: str) -> Result:
        return await asyncio.to_thread(describe, roots.find(path, directory=True))

    return ToolSet.from_functions(fs_read, fs_list, fs_stat)


def _check_number(name: str, value: int, least: int) -> None:
    if value < least:
        raise ToolError(f"{name} must be at least {least}, got {value}", "invalid")
