"""A store of documents in memory, with a clock that a test sets: the part of `DurableStore` that approvals need."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bobcat.stores.protocol import Entry, VersionConflict


class Documents:
    """Gives every other task a turn before it reads and before it writes, so that tests meet the races."""

    def __init__(self) -> None:
        self.time = datetime(2030, 1, 1, tzinfo=UTC)
        self.kept: dict[tuple[str, str], Entry] = {}
        self.conflicts = 0

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.time += timedelta(seconds=seconds)

    async def now(self) -> datetime:
        return self.time

    async def get(self, kind: str, key: str) -> Entry | None:
        await asyncio.sleep(0)
        return self.kept.get((kind, key))

    async def put(self, kind: str, key: str, body: Mapping[str, Any], *, expected: int) -> Entry:
        await asyncio.sleep(0)
        there = self.kept.get((kind, key))
        if (0 if there is None else there.version) != expected:
            self.conflicts += 1
            raise VersionConflict(key)
        entry = Entry(kind, key, expected + 1, json.loads(json.dumps(body)), self.time)
        self.kept[kind, key] = entry
        return entry

    async def scan(self, kind: str, *, after: str = "", limit: int = 100) -> Sequence[Entry]:
        keys = sorted(key for of, key in self.kept if of == kind and key > after)
        return tuple(self.kept[kind, key] for key in keys[:limit])
