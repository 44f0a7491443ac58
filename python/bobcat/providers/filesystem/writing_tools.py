"""Definitions of the tools that write, with their dry-run twins and reconcilers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from bobcat.model.run import Reconciled
from bobcat.providers.filesystem import previews
from bobcat.providers.filesystem.limits import FileLimits
from bobcat.providers.filesystem.moving import delete, move
from bobcat.providers.filesystem.paths import Roots
from bobcat.providers.filesystem.reading import Encoding, Result, encoded
from bobcat.providers.filesystem.reconciling import did_delete, did_move, did_write
from bobcat.providers.filesystem.undoing import undoable
from bobcat.providers.filesystem.writing import append, make_directory, write
from bobcat.tools.action import current_action, uses_action
from bobcat.tools.decorator import tool
from bobcat.tools.toolset import ToolSet

WRITE_SCOPE = ("fs:write",)
Args = Mapping[str, Any]  # Any: arguments of a call


def writing_tools(roots: Roots, limits: FileLimits, *, private: bool) -> ToolSet:
    """Make `fs.write`, `fs.append`, `fs.delete`, `fs.move` and `fs.mkdir`."""

    @tool(name="fs.write", scope=WRITE_SCOPE, reversible=False, blast_radius_hint=1, effect="idempotent")
    @uses_action
    async def fs_write(path: str, content: str, encoding: Encoding = "utf-8", overwrite: bool = True) -> Result:
        """Write a whole file, text or base64. An existing file is replaced at once, with its permissions."""
        place = roots.find(path, current_action())
        data = encoded(content, encoding, limits.write_bytes, path)
        return await asyncio.to_thread(write, place, data, overwrite=overwrite, private=private)

    @fs_write.shadow
    async def would_write(path: str, content: str, encoding: Encoding = "utf-8", overwrite: bool = True) -> Result:
        data = encoded(content, encoding, limits.write_bytes, path)
        return await asyncio.to_thread(previews.would_write, roots.find(path), len(data), overwrite=overwrite)

    @fs_write.reconcile
    async def reconcile_write(_key: str, args: Args) -> Reconciled:
        data = encoded(args["content"], args.get("encoding", "utf-8"), limits.write_bytes, args["path"])
        return await asyncio.to_thread(did_write, roots.find(args["path"]), data)

    @tool(name="fs.append", scope=WRITE_SCOPE, reversible=False, blast_radius_hint=1)
    @uses_action
    async def fs_append(path: str, content: str, encoding: Encoding = "utf-8") -> Result:
        """Append text or base64 to a file, which is made when it does not exist."""
        place = roots.find(path, current_action())
        data = encoded(content, encoding, limits.write_bytes, path)
        return await asyncio.to_thread(append, place, data, private=private, file_bytes=limits.file_bytes)

    @fs_append.shadow
    async def would_append(path: str, content: str, encoding: Encoding = "utf-8") -> Result:
        data = encoded(content, encoding, limits.write_bytes, path)
        return await asyncio.to_thread(previews.would_write, roots.find(path), len(data), overwrite=True)

    @tool(name="fs.delete", scope=WRITE_SCOPE, reversible=False, blast_radius_hint=1)
    @uses_action
    async def fs_delete(path: str) -> Result:
        """Delete a file or an empty directory."""
        return await asyncio.to_thread(delete, roots.find(path, current_action(), directory=True))

    @fs_delete.shadow
    async def would_delete(path: str) -> Result:
        return await asyncio.to_thread(previews.would_delete, roots.find(path, directory=True))

    @fs_delete.reconcile
    async def reconcile_delete(_key: str, args: Args) -> Reconciled:
        return await asyncio.to_thread(did_delete, roots.find(args["path"], directory=True))

    @tool(name="fs.move", scope=WRITE_SCOPE, reversible=False, blast_radius_hint=2)
    @uses_action
    async def fs_move(path: str, to: str, overwrite: bool = False) -> Result:
        """Move or rename a file or a directory to the path `to`. Only with `overwrite` a file there is replaced."""
        action = current_action()
        place, target = roots.find(path, action, directory=True), roots.find(to, action, directory=True)
        return await asyncio.to_thread(move, place, target, overwrite=overwrite)

    @fs_move.shadow
    async def would_move(path: str, to: str, overwrite: bool = False) -> Result:
        place, target = roots.find(path, directory=True), roots.find(to, directory=True)
        return await asyncio.to_thread(previews.would_move, place, target, overwrite=overwrite)

    @fs_move.reconcile
    async def reconcile_move(_key: str, args: Args) -> Reconciled:
        place, target = roots.find(args["path"], directory=True), roots.find(args["to"], directory=True)
        return await asyncio.to_thread(did_move, place, target)

    @tool(name="fs.mkdir", scope=WRITE_SCOPE, reversible=False, blast_radius_hint=1, effect="idempotent")
    @uses_action
    async def fs_mkdir(path: str, parents: bool = False) -> Result:
        """Make a directory, with `parents` also those above it. One that exists is left as it is."""
        place = roots.find(path, current_action(), directory=True)
        return await asyncio.to_thread(make_directory, place, parents=parents, private=private)

    @fs_mkdir.shadow
    async def would_make(path: str, parents: bool = False) -> Result:
        place = roots.find(path, directory=True)
        return await asyncio.to_thread(previews.would_make_directory, place, parents=parents)

    return undoable(ToolSet.from_functions(fs_write, fs_append, fs_delete, fs_move, fs_mkdir), roots, limits)
