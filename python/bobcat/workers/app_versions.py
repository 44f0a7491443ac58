"""The versions of an app whose workers share a store, in the order in which they first appeared.

A run remembers the version of the worker that began it. `OnVersion` decides which versions may continue it:

* `pin`: the same version only. Workers of several versions take new runs.
* `drain`: the same version only. The newest version takes all new runs, the others end what they have.
* `move`: the same version, and each newer one. An older worker takes nothing that a newer one has begun.

The order of appearance decides what is newer: version names can be anything, such as the hash of a commit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias, get_args

from bobcat.errors import JobError
from bobcat.stores.protocol import DurableStore, VersionConflict

OnVersion: TypeAlias = Literal["pin", "drain", "move"]
ON_VERSION = get_args(OnVersion)

KIND, KEY = "app", "versions"
NOT_BEGUN = ""
"""The version of a run that no worker with a version has begun."""


async def register_version(store: DurableStore, version: str) -> tuple[str, ...]:
    """Record that a worker of this version exists; return all versions, in the order of their first appearance.

    Raises `JobError` (`damaged`) for a record that cannot be read.
    """
    while True:
        entry = await store.get(KIND, KEY)
        known = () if entry is None else _versions(entry.body.get(KEY))
        if version in known:
            return known
        body = {KEY: [*known, version]}
        try:
            await store.put(KIND, KEY, body, expected=0 if entry is None else entry.version)
        except VersionConflict:
            continue
        return (*known, version)


def versions_to_take(known: Sequence[str], version: str, on_version: OnVersion) -> Collection[str]:
    """The versions of runs that a worker of `version` may take; `NOT_BEGUN` among them: new runs."""
    match on_version:
        case "pin":
            return (NOT_BEGUN, version)
        case "drain":
            return (NOT_BEGUN, version) if known[-1] == version else (version,)
        case "move":
            return (NOT_BEGUN, *known[: known.index(version) + 1])


def _versions(found: object) -> tuple[str, ...]:
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) and each for each in found):
        raise JobError("damaged", "the versions of the app in this store cannot be read")
    return tuple(found)
