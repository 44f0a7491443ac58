"""The state of one name in an open directory: read, digested, and written whole."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from typing import Any, NamedTuple

from bobcat.errors import UndoError

ABSENT = "absent"
TEMPORARY = ".bobcat-undo-"
"""Beginning of the names of files that are being restored."""
_BLOCK = 1 << 20
_FILE_MODE = 0o600


class State(NamedTuple):
    """The state of one name. `inode` identifies it in a move; times are nanoseconds."""

    type: str
    content: bytes = b""
    mode: int = 0
    accessed: int = 0
    modified: int = 0
    inode: str = ""

    def fingerprint(self) -> str:
        """Return the part of the fingerprint: type, mode and digest of the content."""
        return fingerprint_part(self.type, self.mode, hashlib.sha256(self.content).hexdigest())


def fingerprint_part(type: str, mode: int | None, digest: str) -> str:
    """Return one part of a fingerprint; without a mode, any mode matches it."""
    if type == ABSENT:
        return ABSENT
    return f"{type}:{'*' if mode is None else format(mode, 'o')}:{'' if type == 'directory' else digest}"


def read_state(directory: int, name: str, max_bytes: int, shown: str) -> State:
    """Read the state of a name, at most `max_bytes` of a file. Raises `UndoError` for larger and for special files."""
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return State(ABSENT)
    kind = found.st_mode
    if stat.S_ISREG(kind):
        content, found = _content(directory, name, max_bytes, shown)
        return _described("file", content, found)
    if stat.S_ISLNK(kind):
        return _described("link", os.fsencode(os.readlink(name, dir_fd=directory)), found)
    if stat.S_ISDIR(kind):
        return _described("directory", b"", found)
    raise UndoError("no_snapshot", f"`{shown}` is a special file, which no snapshot can hold")


def _described(type: str, content: bytes, found: os.stat_result) -> State:
    inode = f"{found.st_dev}:{found.st_ino}"
    return State(type, content, stat.S_IMODE(found.st_mode), found.st_atime_ns, found.st_mtime_ns, inode)


def _open_file(directory: int, name: str) -> int:
    return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)


def _content(directory: int, name: str, max_bytes: int, shown: str) -> tuple[bytes, os.stat_result]:
    descriptor = _open_file(directory, name)
    with open(descriptor, "rb", buffering=0) as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise UndoError("no_snapshot", f"`{shown}` is a special file, which no snapshot can hold")
        parts, size = [], 0
        while block := file.read(_BLOCK):
            size += len(block)
            if size > max_bytes:
                raise UndoError("too_large", f"`{shown}` has more bytes than a snapshot may have (max_bytes)")
            parts.append(block)
        return b"".join(parts), found


def name_fingerprint(directory: int, name: str) -> str:
    """Return the fingerprint of a name, of a file of any size."""
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISLNK(found.st_mode):
            target = os.fsencode(os.readlink(name, dir_fd=directory))
            return fingerprint_part("link", mode, hashlib.sha256(target).hexdigest())
        if stat.S_ISDIR(found.st_mode):
            return fingerprint_part("directory", mode, "")
        if not stat.S_ISREG(found.st_mode):
            return fingerprint_part("special", mode, "")
        with open(_open_file(directory, name), "rb", buffering=0) as file:
            return fingerprint_part("file", stat.S_IMODE(os.fstat(file.fileno()).st_mode), _digest(file))
    except FileNotFoundError:
        return ABSENT


def _digest(file: Any) -> str:  # Any: a raw file
    found = hashlib.sha256()
    while block := file.read(_BLOCK):
        found.update(block)
    return found.hexdigest()


def inode_of(directory: int, name: str) -> str | None:
    """Return the identity of what a name leads to; None for an absent one."""
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return f"{found.st_dev}:{found.st_ino}"


def _temporary(name: str) -> str:
    """The name of a restoration's temporary file: always the same for a name, so that the next one removes it."""
    return f"{TEMPORARY}{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"


def remove_temporary(directory: int, name: str) -> None:
    """Remove the temporary file of an interrupted restoration."""
    for remove in (os.unlink, os.rmdir):
        with suppress(FileNotFoundError, IsADirectoryError, PermissionError, NotADirectoryError):
            remove(_temporary(name), dir_fd=directory)


def write_state(directory: int, name: str, state: State, shown: str) -> None:
    """Put a state in place of a name."""
    temporary = _temporary(name)
    try:
        match state.type:
            case "file":
                _write_file(directory, temporary, state)
                os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            case "link":
                os.symlink(os.fsdecode(state.content), temporary, dir_fd=directory)
                os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            case "directory":
                _write_directory(directory, name, temporary, state)
            case _:
                found = os.stat(name, dir_fd=directory, follow_symlinks=False)
                (os.rmdir if stat.S_ISDIR(found.st_mode) else os.unlink)(name, dir_fd=directory)
    except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
        raise UndoError("conflict", f"`{shown}` is of another kind now") from error
    except OSError as error:
        problem = "it is not empty" if state.type == ABSENT else (error.strerror or str(error)).lower()
        raise UndoError("conflict", f"`{shown}` cannot be restored: {problem}") from error
    sync(directory)


def sync(directory: int) -> None:
    """Make the names of a directory durable; its descriptor may be one that only identifies it."""
    descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_file(directory: int, name: str, state: State) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(name, flags, _FILE_MODE, dir_fd=directory), "wb") as file:
        file.write(state.content)
        file.flush()
        os.fchmod(file.fileno(), state.mode)
        os.utime(file.fileno(), ns=(state.accessed, state.modified))
        os.fsync(file.fileno())


def _write_directory(directory: int, name: str, temporary: str, state: State) -> None:
    new = inode_of(directory, name) is None
    made = temporary if new else name
    if new:
        os.mkdir(made, 0o700, dir_fd=directory)
    descriptor = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        os.fchmod(descriptor, state.mode)
        os.utime(descriptor, ns=(state.accessed, state.modified))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if new:
        os.rename(made, name, src_dir_fd=directory, dst_dir_fd=directory)


def set_times(directory: int, name: str, state: State) -> None:
    """Set the times of a name, not of what a link leads to."""
    os.utime(name, ns=(state.accessed, state.modified), dir_fd=directory, follow_symlinks=False)
