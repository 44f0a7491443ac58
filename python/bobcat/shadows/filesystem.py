"""Previews of writing and deleting a file: they read the file's metadata and change nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
D = TypeVar("D")

PREVIEW_CHARS = 200


# Any: previews are JSON objects for people to read.
async def write_file_shadow(path: str, content: str) -> dict[str, Any]:
    """Preview writing `content` to `path`."""
    exists, size, _ = await asyncio.to_thread(_state, Path(path))
    return {
        "would_write": path,
        "bytes": len(content.encode("utf-8", "surrogatepass")),
        "would_overwrite": exists,
        "would_overwrite_bytes": size,
        "preview_first_200_chars": content[:PREVIEW_CHARS],
        "note": "preview only: nothing was written",
    }


async def delete_file_shadow(path: str) -> dict[str, Any]:
    """Preview deleting `path`."""
    exists, size, is_directory = await asyncio.to_thread(_state, Path(path))
    if not exists:
        return {"would_delete": path, "exists": False, "note": "nothing to delete: the path does not exist"}
    return {
        "would_delete": path,
        "exists": True,
        "size_bytes": None if is_directory else size,
        "is_directory": is_directory,
        "note": "preview only: nothing was deleted",
    }


def _state(path: Path) -> tuple[bool, int | None, bool]:
    """Return existence, size in bytes, and whether the path is a directory; blocking, so call it off the event loop."""
    return (
        _read(lambda: path.exists() or path.is_symlink(), otherwise=False),
        _read(lambda: path.stat().st_size, otherwise=None),
        _read(path.is_dir, otherwise=False),
    )


def _read(state: Callable[[], T], *, otherwise: D) -> T | D:
    try:
        return state()
    except (OSError, ValueError):  # no permission, or not a valid path
        return otherwise
