"""A bundle file that only newer releases replace: the published one of a directory, and the last good one of a worker.

INVARIANT: the file is whole or absent at every moment, and its epoch never falls. Releases are compared and written
under one lock, so of two processes that write at the same time the second one sees the release of the first.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from bobcat.bundle import Policy, file
from bobcat.distribution.lock import locked
from bobcat.distribution.release import Keys, Release, check_follows, read_release
from bobcat.errors import BundleError


class BundleFile:
    """The file at `path`. `trust` are the keys of which one must have signed it; None for any or no signature."""

    def __init__(self, path: str | os.PathLike[str], trust: Keys | None) -> None:
        self.path, self._trust = Path(path), trust

    def read(self) -> tuple[bytes, Release] | None:
        """Return the bytes and the release; None without a file. Raises `BundleError` for one that is not trusted."""
        if not self.path.exists():
            return None
        data = file.read(self.path)
        return data, read_release(data, self._trust)

    def write(self, data: bytes, *, min_epoch: int = 0) -> tuple[Release, Release | None]:
        """Write a release that may follow the present one; return it and the one before.

        A file with the same content is left alone. A present file that is not trusted is replaced, because its epoch
        says nothing. Raises `BundleError` for a release that is refused, `SourceError`, `OSError`.
        """
        new = read_release(data, self._trust)
        check_loads(data, new)
        with locked(self.path):
            try:
                present = self.read()
            except BundleError:
                present = None
            before = None if present is None else present[1]
            check_follows(new, before, min_epoch=min_epoch)
            if before is None or before.content != new.content:
                self._remove_parts()
                file.write(self.path, data)
        return new, before

    def _remove_parts(self) -> None:
        """Remove what processes left that were killed while they wrote."""
        for left in self.path.parent.glob(f".{self.path.name}.*.part"):
            with suppress(OSError):
                left.unlink()


def check_loads(data: bytes, release: Release) -> None:
    """Raise `BundleError` for a bundle that no worker could load. The callables of host rules are the workers' own."""
    if not release.has_host_rules:
        Policy.load(data, profile=None)
