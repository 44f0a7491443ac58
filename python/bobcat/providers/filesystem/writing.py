"""`fs.write`, `fs.append` and `fs.mkdir`. Synchronous: they run in a thread."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from contextlib import suppress
from dataclasses import replace

from bobcat.errors import ToolError
from bobcat.providers.filesystem import syscalls
from bobcat.providers.filesystem.paths import Place
from bobcat.providers.filesystem.reading import Result
from bobcat.providers.filesystem.root import DIRECTORY

DRAFT_PREFIX = ".bobcat-draft-"
"""Beginning of the names of files that are being written. A crash can leave one."""
_NEW = -1  # no flags: `files` refuses Windows, which has not all of them
if sys.platform != "win32":
    _NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_WRONLY
_ATTEMPTS = 2
_EFFECTIVE = os.access in os.supports_effective_ids


def status_of(name: str, directory: int) -> os.stat_result | None:
    """The status of a name of a directory, or None for a missing one."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def write(place: Place, data: bytes, *, overwrite: bool, private: bool) -> Result:
    """Write a file as a whole: other processes find the old content or the new one.

    The permissions of a file that is replaced are kept. One with other names is refused: it would be separated from
    them.
    """
    with place.errors(), place.parent() as (directory, name):
        before = check_target(place, name, directory, overwrite=overwrite)
        draft, fd = _draft(directory, private=private)
        try:
            try:
                _write_all(fd, data)
                if before is not None:
                    _take_over(fd, before)
                os.fsync(fd)
                status = os.fstat(fd)
            finally:
                os.close(fd)
            place.record(status, **({} if before is None else {"replaced": before.st_ino}))
            if overwrite:
                os.rename(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
            else:
                _rename_new(draft, name, directory)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft, dir_fd=directory)
            raise
        sync(directory)
    return {"path": place.given, "bytes": len(data), "created": before is None}


def append(place: Place, data: bytes, *, private: bool, file_bytes: int) -> Result:
    """Append to a file, or make it."""
    with place.errors(), place.parent() as (directory, name):
        fd, size = _open_to_append(place, name, directory, private=private)
        try:
            if size + len(data) > file_bytes:
                text = f"has {size} bytes, and may not grow beyond {file_bytes}"
                raise place.error(text, "too_large")
            place.record(os.fstat(fd))
            _write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        if size < 0:
            sync(directory)
    return {"path": place.given, "bytes": len(data), "size": max(size, 0) + len(data)}


def make_directory(place: Place, *, parents: bool, private: bool) -> Result:
    """Make a directory; `created` is false when it exists already."""
    created = False
    place.begin()
    first = len(place.components) if not parents else 1
    with place.errors():
        for depth in range(max(first, 1), len(place.components) + 1):
            step = replace(place, components=place.components[:depth])
            with step.parent() as (directory, name):
                before = status_of(name, directory)
                if before is None:
                    os.mkdir(name, 0o700 if private else 0o777, dir_fd=directory)
                    created = True
                    sync(directory)
        fd = place.open(DIRECTORY)
        try:
            place.record(os.fstat(fd))
        finally:
            os.close(fd)
    return {"path": place.given, "created": created}


def check_target(place: Place, name: str, directory: int, *, overwrite: bool) -> os.stat_result | None:
    """The status of a file that would be replaced, or None. Raises `ToolError` for one that may not be."""
    before = status_of(name, directory)
    if before is not None:
        if not overwrite:
            raise place.error("exists already, and overwrite is false", "exists")
        place.check_regular(before, links=False)
        # A rename replaces a read-only file, where a write to it would fail.
        if not os.access(name, os.W_OK, dir_fd=directory, effective_ids=_EFFECTIVE):
            raise place.error("is read-only", "permission")
    return before


def sync(directory: int) -> None:
    """Make the names of a directory durable, where the process may read it."""
    try:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    except PermissionError:
        return
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _draft(directory: int, *, private: bool) -> tuple[str, int]:
    name = DRAFT_PREFIX + secrets.token_hex(8)
    return name, os.open(name, _NEW, 0o600 if private else 0o666, dir_fd=directory)


def _take_over(fd: int, before: os.stat_result) -> None:
    """Give the new file the owner and the permissions of the one that it replaces, but no set-user-ID."""
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        os.fchown(fd, before.st_uid, before.st_gid)
    os.fchmod(fd, stat.S_IMODE(before.st_mode) & 0o777)


def _rename_new(draft: str, name: str, directory: int) -> None:
    try:
        syscalls.rename_noreplace((directory, draft), (directory, name))
    except NotImplementedError:
        os.link(draft, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
        os.unlink(draft, dir_fd=directory)


def _open_to_append(place: Place, name: str, directory: int, *, private: bool) -> tuple[int, int]:
    """The descriptor and the size of the file; the size is -1 for one that was made."""
    for _ in range(_ATTEMPTS):
        before = status_of(name, directory)
        if before is None:
            with suppress(FileExistsError):
                return os.open(name, _NEW | os.O_APPEND, 0o600 if private else 0o666, dir_fd=directory), -1
            continue
        place.check_regular(before, links=False)
        flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        fd = os.open(name, flags, dir_fd=directory)
        try:
            opened = os.fstat(fd)
            if os.path.samestat(opened, before):  # an overlay gives a file a new identity when it is first written
                place.check_regular(opened, links=False)
                place.root.check_mount(fd)
                return fd, opened.st_size
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def _write_all(fd: int, data: bytes) -> None:
    written, view = 0, memoryview(data)
    try:
        while written < len(data):
            written += os.write(fd, view[written:])
    except OSError as error:
        if not written:
            raise
        raise ToolError(f"only {written} of {len(data)} bytes were written: {error.strerror}", "no_space") from None
