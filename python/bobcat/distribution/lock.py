"""A lock between processes beside a bundle file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bobcat.errors import SourceError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # checked where it is used

WAIT_SECONDS = 30.0
POLL_SECONDS = 0.02


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of the file at `path`, which need not exist. A process that is killed releases it.

    Raises `SourceError` if another process holds it for too long, `OSError` for a directory that cannot be written.
    """
    if fcntl is None:
        raise SourceError("no_locks", "this platform has no `flock`: bundles cannot be published or kept here")
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        until = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > until:
                    raise SourceError("busy", f"`{path}` is locked by another process for too long") from error
                time.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)  # releases the lock
