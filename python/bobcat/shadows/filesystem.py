"""Previews of writing and deleting a file: they read the file's metadata and change nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

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
    return _exists(path), _size(path), _is_directory(path)


def _exists(path: Path) -> bool:
    try:
        return path.exists() or path.is_symlink()
    except (OSError, ValueError):  # no permission, or not a valid path
        return False


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return None
