"""Publishing a release to a directory or a bundle server, and pulling one from there into a file."""

from __future__ import annotations

import os
from datetime import datetime

from bobcat.distribution.bundle_file import BundleFile
from bobcat.distribution.http_source import HttpSource
from bobcat.distribution.release import Keys, Release, check_follows, check_fresh, read_release
from bobcat.distribution.source import BundleSource, FileSource, bundle_path
from bobcat.errors import BundleError, SourceError


def publish(data: bytes, target: HttpSource | FileSource | str | os.PathLike[str]) -> tuple[Release, bool]:
    """Publish a signed bundle with an epoch; return its release, and false if it is there already.

    Raises `BundleError` for a release that may not follow the published one, `SourceError` for a server that refuses it
    or cannot be reached, `OSError` for a directory that cannot be written.
    """
    release = read_release(data, None)
    if release.epoch is None:
        raise BundleError("no_epoch", "the bundle has no epoch, which distinguishes it from an older one")
    if not release.signed:
        raise BundleError("unsigned", "the bundle carries no signature")
    if isinstance(target, HttpSource):
        return release, bool(target.put(data).get("changed"))
    path = target.path if isinstance(target, FileSource) else bundle_path(target)
    _, before = BundleFile(path, None).write(data)
    return release, before is None or before.content != release.content


def published(target: HttpSource | FileSource, trust: Keys) -> Release | None:
    """Return the release that a source has now, or None. Raises `BundleError` for one that no trusted key signed."""
    if isinstance(target, FileSource) and not target.path.exists():
        return None
    try:
        found = target.fetch(None)
    except SourceError as error:
        if error.code == "not_found":
            return None
        raise
    return None if found is None else read_release(found[0], trust)


def pull(
    source: BundleSource, output: str | os.PathLike[str], *, trust: Keys, now: datetime, min_epoch: int = 0
) -> tuple[Release, bool]:
    """Write the release of a source to `output`; return it, and false if it is there already.

    The file at `output` is the last good release: it stays as it is when the new one is refused, and no older one
    replaces it. Raises `BundleError`, `SourceError`, `OSError`.
    """
    kept = BundleFile(output, trust)
    try:
        present = kept.read()
    except BundleError:
        present = None  # not ours to trust, so its epoch does not count either
    found = source.fetch(None if present is None else f'"{present[1].content}"')
    if found is None:
        if present is None:
            raise SourceError("unreachable", f"`{source.name}` answers `not modified` to a first request")
        check_fresh(present[1], now)
        check_follows(present[1], None, min_epoch=min_epoch)
        return present[1], False
    release = read_release(found[0], trust)
    check_fresh(release, now)
    _, before = kept.write(found[0], min_epoch=min_epoch)
    return release, before is None or before.content != release.content
