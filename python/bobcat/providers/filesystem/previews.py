"""Dry runs of the tools that write: the same checks, and no effect. Synchronous: they run in a thread."""

from __future__ import annotations

from dataclasses import replace

from bobcat.errors import ToolError
from bobcat.providers.filesystem.moving import check_deletable, check_movable
from bobcat.providers.filesystem.paths import Place, kind_of
from bobcat.providers.filesystem.reading import Result
from bobcat.providers.filesystem.writing import check_target, status_of


def would_write(place: Place, count: int, *, overwrite: bool) -> Result:
    """Bytes that `fs.write` or `fs.append` would write, and the size of the file that is there."""
    with place.errors(), place.parent() as (directory, name):
        before = check_target(place, name, directory, overwrite=overwrite)
    return {
        "path": place.given,
        "bytes": count,
        "created": before is None,
        "size_before": None if before is None else before.st_size,
    }


def would_delete(place: Place) -> Result:
    """Type and size of what would be deleted."""
    with place.errors(), place.parent() as (directory, name):
        status = status_of(name, directory)
        if status is None:
            raise place.error("does not exist", "missing")
        kind = check_deletable(place, status)
    return {"path": place.given, "type": kind, "size_before": status.st_size if kind == "file" else None}


def would_move(place: Place, to: Place, *, overwrite: bool) -> Result:
    """Type of what would be moved; `replaced` is true when a file would be lost."""
    with place.errors(), place.parent() as (directory, name):
        status = status_of(name, directory)
        if status is None:
            raise place.error("does not exist", "missing")
        check_movable(place, status)
    with to.errors(), to.parent() as (directory, name):
        before = check_target(to, name, directory, overwrite=overwrite)
    return {"path": place.given, "to": to.given, "type": kind_of(status), "replaced": before is not None}


def would_make_directory(place: Place, *, parents: bool) -> Result:
    """`created` is true when the directory does not exist; without `parents`, the one above it must."""
    for depth in range(1, len(place.components) + 1):
        step = replace(place, components=place.components[:depth])
        try:
            with step.errors(), step.parent() as (directory, name):
                status = status_of(name, directory)
        except ToolError as error:
            if parents and error.code == "missing":
                return {"path": place.given, "created": True}
            raise
        if status is not None and depth == len(place.components) and kind_of(status) != "directory":
            raise place.error(f"exists already as a {kind_of(status)}", "exists")
        if status is None:
            if depth < len(place.components) and not parents:
                raise place.error("is in a directory that does not exist; make it, or pass parents=true", "missing")
            return {"path": place.given, "created": True}
    return {"path": place.given, "created": False}
