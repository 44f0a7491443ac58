"""The identity of a directory of journals: the file `store`, which records its own inode number.

In a copy of the directory, or a backup that was unpacked over it, this file has another number: the next epoch begins,
as in `bobcat.stores.sqlite.identity`. Data copied into the existing file goes unnoticed: run `bobcat store
mark-restored` then.
"""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import msgspec

from bobcat.errors import StoreError
from bobcat.stores.codec import UNREADABLE
from bobcat.stores.file.disk import sync_directory
from bobcat.stores.file_identity import file_identity
from bobcat.stores.private_files import open_private

NAME = "store"
LENGTH = 256
"""Bytes of the file: it is written in place, so that its inode does not change."""


@dataclass(frozen=True, slots=True)
class FileStoreIdentity:
    """The content of the file. `inode` is its own number: see `bobcat.stores.file_identity`."""

    id: str
    epoch: int
    inode: int
    restored: int | None = None


def read_identity(directory: Path) -> FileStoreIdentity | None:
    """Read the file; None without one, or for one that is being made. Raises `StoreError` (`damaged`)."""
    try:
        content = (directory / NAME).read_bytes()
        return msgspec.convert(json.loads(content), FileStoreIdentity) if content else None
    except FileNotFoundError:
        return None
    except UNREADABLE as error:
        raise StoreError("damaged", f"`{directory / NAME}` does not name a store ({type(error).__name__})") from error


def write_identity(
    directory: Path, *, epoch: int, known: FileStoreIdentity | None, now: int | None = None
) -> FileStoreIdentity:
    """Write the file, with its inode. INVARIANT: under the directory's lock."""
    descriptor = open_private(directory / NAME, os.O_RDWR)
    try:
        found = (
            FileStoreIdentity(uuid.uuid4().hex, epoch, 0)
            if known is None
            else replace(known, epoch=epoch, restored=now)
        )
        found = replace(found, inode=file_identity(directory / NAME))
        os.pwrite(descriptor, json.dumps(asdict(found)).encode().ljust(LENGTH - 1) + b"\n", 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_directory(directory)
    return found


def inode_of(directory: Path) -> int | None:
    """The number of the file; None without one."""
    try:
        return file_identity(directory / NAME)
    except OSError:
        return None
