"""Snapshots of what a tool changes, and the protocol of the code that takes and restores them.

`bobcat.undo` stores snapshots; a tool has its `Snapshotter` in `ToolDef.snapshotter`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

Args: TypeAlias = Mapping[str, Any]  # Any: arguments of any call


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of one or two resources before a change, and what tells that state from the one after it.

    `target` names the resource, `to` a second one, such as the new name of a moved file. `data` consists of JSON values
    and bytes. `before` and `after` are fingerprints of the state, with one part for each resource; `after` is None
    where only the effect tells. `size` counts the bytes of the content.
    """

    target: str
    data: Any  # Any: JSON values and bytes, of the snapshotter's choice
    before: tuple[str, ...]
    after: tuple[str, ...] | None = None
    to: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class Changed:
    """A change that took effect: the tool's return value, and the fingerprint of the state after it."""

    value: Any  # Any: results of tools have any type
    after: tuple[str, ...]


class Prepare(Protocol):
    """Makes a snapshot durable. No effect may happen before it returns."""

    @property
    def max_bytes(self) -> int:
        """Maximum size of a snapshot's content."""

    async def __call__(self, snapshot: Snapshot, /) -> None:
        """Keep the snapshot. Raises `UndoError` for one that is too large, or that cannot be kept."""


RunEffect: TypeAlias = Callable[[], Awaitable[Any]]
"""Run the tool's own function with the arguments of the call."""


@runtime_checkable
class Snapshotter(Protocol):
    """Takes and restores snapshots of what one tool changes."""

    @property
    def kind(self) -> str:
        """The kind of the snapshots: `file`, `sql` or `function`."""

    @property
    def proves_absence(self) -> bool:
        """True when a state equal to that before means that the effect did not happen."""

    async def protect(self, args: Args, effect: RunEffect, prepare: Prepare) -> Changed:
        """Take a snapshot, make it durable by `prepare`, then let the effect happen."""

    async def fingerprint(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Return the fingerprint of the present state of the snapshot's resources."""

    async def present(self, snapshot: Snapshot, max_bytes: int) -> Snapshot:
        """Take a snapshot of the present state of the same resources."""

    async def restore(self, snapshot: Snapshot, expected: tuple[str, ...] | None, prepare: Prepare) -> Changed:
        """Restore the state of a snapshot: take one of the present state, make that durable by `prepare`, then write.

        With `expected`, the present state must have that fingerprint: else `UndoError` (`conflict`), and nothing
        changes. Every resource is written whole, and a repeated call after an interruption completes the first.
        """

    def texts(self, snapshot: Snapshot) -> Mapping[str, str | None]:
        """Return the text of each resource in the snapshot, for people; None for an absent or a binary one."""

    async def clean(self, snapshot: Snapshot) -> None:
        """Remove what an interruption has left: temporary files of `restore`, the beginning of an append."""


def matches(now: Sequence[str], known: Sequence[str] | None) -> bool:
    """Return true if a fingerprint is the known one; `*` in a known part stands for any text up to the next colon."""
    return known is not None and len(now) == len(known) and all(map(part_matches, now, known))


def part_matches(now: str, known: str) -> bool:
    """Return true if one part of a fingerprint is the known one."""
    if "*" not in known:
        return now == known
    one, other = now.split(":"), known.split(":")
    return len(one) == len(other) and all(each in ("*", found) for found, each in zip(one, other, strict=True))
