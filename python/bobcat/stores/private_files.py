"""Files and directories that only their owner can read: journals hold arguments and results of tools.

The mode ignores the umask. Existing files keep their mode: a group may have been given access on purpose.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

FILE_MODE, DIRECTORY_MODE = 0o600, 0o700
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


def open_private(path: Path | str, flags: int) -> int:
    """`os.open` that gives a new file `FILE_MODE`. `flags` without `O_CREAT` and `O_EXCL`."""
    try:
        return _create(path, flags)
    except FileExistsError:
        return os.open(path, flags | _CLOEXEC | os.O_CREAT, FILE_MODE)  # created, if it was removed meanwhile


def private_opener(path: str, flags: int) -> int:
    """Opener for `open(path, "a", opener=private_opener)`: a new file gets `FILE_MODE`, regardless of the umask."""
    return open_private(path, flags & ~(os.O_CREAT | os.O_EXCL)) if flags & os.O_CREAT else os.open(path, flags)


def create_private(path: str) -> None:
    """Create an empty file with `FILE_MODE`, unless it exists."""
    with suppress(FileExistsError):
        os.close(_create(path, os.O_RDWR))


def _create(path: Path | str, flags: int) -> int:
    descriptor = os.open(path, flags | _CLOEXEC | os.O_CREAT | os.O_EXCL, FILE_MODE)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, FILE_MODE)
    return descriptor


def private_directory(path: Path) -> None:
    """Create a directory, and its missing parents, with `DIRECTORY_MODE`."""
    if path.is_dir():
        return
    if path.parent != path:
        private_directory(path.parent)
    with suppress(FileExistsError):
        path.mkdir(DIRECTORY_MODE)
        path.chmod(DIRECTORY_MODE)
