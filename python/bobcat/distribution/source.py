"""Sources of bundles: a file that is replaced atomically, or a web server (`http_source`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol, runtime_checkable

from bobcat.bundle import file
from bobcat.distribution.http_source import HttpSource
from bobcat.errors import BundleError, SourceError

DEFAULT_NAME = "policy"
SUFFIX = ".bundle"


@runtime_checkable
class BundleSource(Protocol):
    """A place that has the present bundle."""

    @property
    def name(self) -> str:
        """The place in messages, without secrets."""

    @property
    def remote(self) -> bool:
        """True if others than the administrators of this machine could have changed the bytes."""

    def fetch(self, tag: str | None) -> tuple[bytes, str | None] | None:
        """Return the bytes and their tag; None if they have not changed since `tag`.

        Raises `SourceError` for a place that cannot be read.
        """


class FileSource:
    """The bundle at `path`; in a directory, `policy.bundle`. It may be missing at first."""

    remote = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = bundle_path(path)
        self.name = str(self.path)

    def fetch(self, tag: str | None) -> tuple[bytes, str | None] | None:
        """Read the file if its inode, size or time differ from those of `tag`."""
        try:
            # The state before the bytes: a file that is replaced in between is read again the next time.
            found = self.path.stat()
            state = f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"
            return None if state == tag else (file.read(self.path), state)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise SourceError("unreachable", f"cannot read `{self.name}`: {reason}") from error
        except BundleError as error:  # it went away after `stat`
            raise SourceError("unreachable", str(error)) from error


def bundle_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a bundle; in a directory, that of `policy.bundle`."""
    found = Path(path)
    return found / f"{DEFAULT_NAME}{SUFFIX}" if found.is_dir() else found


def is_url(source: str | os.PathLike[str]) -> bool:
    """Return true for the URL of a bundle."""
    return isinstance(source, str) and "://" in source


def source_of(source: str | os.PathLike[str] | BundleSource) -> BundleSource:
    """Return the source at a path or an HTTP URL. Raises `ValueError` for another URL, `TypeError` for another type."""
    if isinstance(source, str | os.PathLike):
        return HttpSource(str(source)) if is_url(source) else FileSource(source)
    if not isinstance(source, BundleSource):
        raise TypeError(f"source must be a path, a URL or a BundleSource, got {type(source).__name__}")
    return source
