"""`fs.delete` and `fs.move`. Synchronous: they run in a thread."""

from __future__ import annotations

import os
import stat

from bobcat.providers.filesystem import syscalls
from bobcat.providers.filesystem.paths import Place, kind_of
from bobcat.providers.filesystem.reading import Result
from bobcat.providers.filesystem.writing import check_target, status_of, sync


def delete(place: Place) -> Result:
    """Delete a file, a symbolic link (not what it leads to) or an empty directory."""
    with place.errors(), place.parent() as (directory, name):
        status = _existing(place, name, directory)
        kind = check_deletable(place, status)
        place.record(status)
        if kind == "directory":
            os.rmdir(name, dir_fd=directory)
        else:
            os.unlink(name, dir_fd=directory)
        sync(directory)
    return {"path": place.given, "type": kind}


def check_deletable(place: Place, status: os.stat_result) -> str:
    """The type of what is deleted. Raises `ToolError` for special files."""
    kind = kind_of(status)
    if kind not in ("file", "symlink", "directory"):
        raise place.error(f"is a {kind}, which is not deleted", "special")
    return kind


def move(place: Place, to: Place, *, overwrite: bool) -> Result:
    """Move or rename a file or a directory. A file at the new path is replaced with `overwrite` only."""
    with place.errors(), place.parent() as (directory, name):
        status = _existing(place, name, directory)
        check_movable(place, status)
        with to.errors(), to.parent() as (target_directory, target):
            before = check_target(to, target, target_directory, overwrite=overwrite)
            facts = {} if before is None else {"replaced": before.st_ino}
            place.record(status, to=to.given, to_root=to.root.name, **facts)
            if overwrite and not stat.S_ISDIR(status.st_mode):
                os.rename(name, target, src_dir_fd=directory, dst_dir_fd=target_directory)
            else:
                _rename_new(to, status, (directory, name), (target_directory, target))
            sync(target_directory)
            if place.components[:-1] != to.components[:-1] or place.root is not to.root:
                sync(directory)
    return {"path": place.given, "to": to.given, "type": kind_of(status), "replaced": before is not None}


def check_movable(place: Place, status: os.stat_result) -> None:
    """Raise `ToolError` for links and special files. A moved link would lead to another file."""
    if not stat.S_ISDIR(status.st_mode):
        place.check_regular(status, links=True)


def _existing(place: Place, name: str, directory: int) -> os.stat_result:
    status = status_of(name, directory)
    if status is None:
        raise place.error("does not exist", "missing")
    return status


def _rename_new(to: Place, status: os.stat_result, source: tuple[int, str], target: tuple[int, str]) -> None:
    try:
        syscalls.rename_noreplace(source, target)
    except NotImplementedError:
        if stat.S_ISDIR(status.st_mode):
            text = "cannot get this directory: it is that one, or the system only moves files without replacing"
            raise to.error(text, "invalid") from None
        os.link(source[1], target[1], src_dir_fd=source[0], dst_dir_fd=target[0], follow_symlinks=False)
        os.unlink(source[1], dir_fd=source[0])
