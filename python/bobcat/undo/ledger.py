"""The entries of one undo store: snapshots kept before an effect, and their states after it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import uuid4

from bobcat.errors import UndoError
from bobcat.logs import logger
from bobcat.model.snapshot import Changed, Snapshot
from bobcat.text.json_text import is_exact, json_text
from bobcat.undo.entry import EntryState, Row
from bobcat.undo.owner import this_process
from bobcat.undo.seal import Sealer, plain
from bobcat.undo.store import UndoStore

T = TypeVar("T")

VALUE_CHARS = 65_536
"""Largest return value, as JSON, that an entry keeps for the reconciler."""
PRUNE_SECONDS = 60.0
"""Seconds between removals of expired entries."""

log = logger("undo")


class Ledger:
    """Keeps entries, encrypted with a key if there is one, and removes those that have expired."""

    def __init__(self, store: UndoStore, keep_seconds: float, max_bytes: int, key: bytes | str | None) -> None:
        self.store, self.sealer = store, Sealer(key)
        self.keep_seconds, self.max_bytes = keep_seconds, max_bytes
        self.active: set[str] = set()
        """Ids of entries that this object works on: recovery leaves them alone."""
        self._pruned = 0.0

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Call a method of the store in a thread."""
        return await asyncio.to_thread(work)

    async def prepare(
        self, tool: str, kind: str, snapshot: Snapshot, *, origin: str, key: str = "", undoes: str = "",
        of: tuple[EntryState, ...] = (),
    ) -> Row:  # fmt: skip
        """Keep a snapshot, and return its row. That of an undo also claims the entry that it `undoes`."""
        if snapshot.size > self.max_bytes:
            raise too_large(snapshot.target, self.max_bytes)
        now = time.time()
        row = Row(
            uuid4().hex, "prepared", tool, origin, snapshot.target, snapshot.to, kind, snapshot.size, now, now,
            now + self.keep_seconds, key, undoes, this_process(), self.sealer.sealed, b"", b"",
        )  # fmt: skip
        row = row._replace(snapshot=self.sealer.seal(row, "snapshot", plain(snapshot)))

        def work() -> None:
            if now - self._pruned > PRUNE_SECONDS:
                self._pruned = now
                self.store.prune(now)
            if not undoes:
                self.store.add(row)
            elif not self.store.add_undo(row, undoes, of=of):
                raise UndoError("busy", f"undo entry `{undoes}` is being undone, or was")

        self.active.add(row.id)
        try:
            await self.in_thread(work)
        except BaseException:
            self.active.discard(row.id)
            raise
        return row

    def outcome(self, row: Row, changed: Changed) -> bytes:
        """Return the sealed outcome of an effect."""
        value = changed.value
        small = is_exact(value) and len(json_text(value)) <= VALUE_CHARS
        return self.sealer.seal(
            row, "outcome", {"after": list(changed.after), **({"value": value} if small else {})}
        )  # fmt: skip

    async def done(self, row: Row, changed: Changed) -> None:
        """Record that the effect of an entry happened."""
        outcome = self.outcome(row, changed)
        await self.in_thread(lambda: self.store.change(row.id, "done", of=("prepared", "uncertain"), outcome=outcome))

    async def known(self, id: str) -> Row:
        """Return an entry. Raises `UndoError` for an unknown one and one that has expired."""
        row = await self.in_thread(lambda: self.store.get(id))
        if row is None:
            raise UndoError("unknown", f"there is no undo entry `{id}`; it may have expired")
        if row.expires <= time.time():
            raise UndoError("expired", f"undo entry `{id}` has expired")
        return row

    def after(self, row: Row) -> tuple[str, ...] | None:
        """Return the fingerprint of the state after the effect, or None where it is unknown."""
        return None if not row.outcome else tuple(self._outcome(row)["after"])

    def value(self, row: Row) -> Any:  # Any: results of tools have any type
        """Return what the tool returned; None where it was not kept."""
        return None if not row.outcome else self._outcome(row).get("value")

    def _outcome(self, row: Row) -> dict[str, Any]:  # Any: see `outcome`
        found = self.sealer.unseal(row, "outcome")
        if not isinstance(found, dict) or not isinstance(found.get("after"), list):
            raise UndoError("damaged", f"undo entry `{row.id}` is damaged: its outcome cannot be read")
        return found


def too_large(target: str, max_bytes: int) -> UndoError:
    """The error for content that no snapshot can hold."""
    return UndoError("too_large", f"a snapshot of `{target}` has more than {max_bytes} bytes (max_bytes)")
