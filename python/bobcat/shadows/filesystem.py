"""Previews of writing and deleting a file: they look at the file's state and change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PREVIEW_CHARS = 200


# Any: previews are JSON objects for people to read.
async def write_file_shadow(path: str, content: str) -> dict[str, Any]:
    """What writing `content` to `path` would do."""
    size = _size(Path(path))
    return {
        "would_write": path,
        "bytes": len(content.encode("utf-8", "surrogatepass")),
        "would_overwrite": _exists(Path(path)),
        "would_overwrite_bytes": size,
        "preview_first_200_chars": content[:PREVIEW_CHARS],
        "note": "preview only: nothing was written",
    }


async def delete_file_shadow(path: str) -> dict[str, Any]:
    """What deleting `path` would do."""
    target = Path(path)
    if not _exists(target):
        return {"would_delete": path, "exists": False, "note": "nothing to delete: the path does not exist"}
    return {
        "would_delete": path,
        "exists": True,
        "size_bytes": None if _is_directory(target) else _size(target),
        "is_directory": _is_directory(target),
        "note": "preview only: nothing was deleted",
    }


def _exists(path: Path) -> bool:
    try:
        return path.exists() or path.is_symlink()
    except (OSError, ValueError):  # no permission to look, or no path at all
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
