"""The identity of a directory of journals: the file `store`, which has the number that only itself has.

In a copy of the directory, or a backup that was unpacked over it, this file has another number: the next epoch begins,
as in `bobcat.stores.sqlite.identity`. What is copied into the file in place is not noticed: say
`bobcat store mark-restored` then.
"""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import msgspec

from bobcat.errors import StoreError
from bobcat.private_files import open_private
from bobcat.stores.file.disk import sync_directory
from bobcat.stores.file_identity import file_identity
from bobcat.stores.written import UNREADABLE

NAME = "store"
LENGTH = 256
"""Bytes of the file: it is written in place, so that its inode stays."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What the file says. `inode` is its own number: see `bobcat.stores.file_identity`."""

    id: str
    epoch: int
    inode: int
    restored: int | None = None


def read_identity(directory: Path) -> Identity | None:
    """What the file says, or None when there is none. Raises `StoreError` (`damaged`)."""
    try:
        return msgspec.convert(json.loads((directory / NAME).read_bytes()), Identity)
    except FileNotFoundError:
        return None
    except UNREADABLE as error:
        raise StoreError("damaged", f"`{directory / NAME}` does not name a store ({type(error).__name__})") from error


def write_identity(directory: Path, *, epoch: int, known: Identity | None, now: int | None = None) -> Identity:
    """Write the file, with the inode that it has. INVARIANT: under the directory's lock."""
    descriptor = open_private(directory / NAME, os.O_RDWR)
    try:
        found = Identity(uuid.uuid4().hex, epoch, 0) if known is None else replace(known, epoch=epoch, restored=now)
        found = replace(found, inode=file_identity(directory / NAME))
        os.pwrite(descriptor, json.dumps(asdict(found)).encode().ljust(LENGTH - 1) + b"\n", 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_directory(directory)
    return found


def inode_of(directory: Path) -> int | None:
    """The number of the file, or None when there is none."""
    try:
        return file_identity(directory / NAME)
    except OSError:
        return None
