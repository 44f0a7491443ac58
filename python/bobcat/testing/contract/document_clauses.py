"""Document clauses of a `DurableStore`: versions only grow, and updates never overwrite each other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from bobcat.stores.protocol import Entry, VersionConflict
from bobcat.testing.contract.journal_clauses import BODIES
from bobcat.testing.contract.subject import (
    StoreUnderTest,
    demand,
    demand_accepted,
    demand_one_winner,
    demand_refused,
    present,
)
from bobcat.text.json_text import json_text
from bobcat.text.shortening import shortened

INCREMENTS = 5
"""Increments of each writer in a race."""


def _demand_entry(entry: Entry | None, key: str, version: int, body: Mapping[str, Any], what: str) -> None:
    entry = present(entry, f"{what}: the document")
    demand((entry.key, entry.version) == (key, version), f"{what}: {entry.key!a} at version {entry.version}")
    demand(
        json_text(dict(entry.body)) == json_text(dict(body)),
        f"{what}: `{shortened(json_text(dict(entry.body)), 80)}` instead of `{shortened(json_text(dict(body)), 80)}`",
    )
    demand(entry.updated.tzinfo is not None, f"{what}: its time has no zone")


async def a_document_has_versions(subject: StoreUnderTest) -> None:
    """A document starts at version 1 and grows by one; a change from any other version raises `VersionConflict` and
    changes nothing."""
    store, kind = await subject.durable(), subject.run_id("kind")
    demand(await store.get(kind, "k") is None, "a document exists before it was written")
    await demand_refused(store.put(kind, "k", {"n": 0}, expected=1), VersionConflict, "changing a missing document")
    _demand_entry(await store.put(kind, "k", {"n": 1}, expected=0), "k", 1, {"n": 1}, "the first `put`")
    _demand_entry(await store.get(kind, "k"), "k", 1, {"n": 1}, "`get` after it")
    for expected in (0, 2):
        call = store.put(kind, "k", {"n": 99}, expected=expected)
        await demand_refused(call, VersionConflict, f"a change from version {expected} of a document at version 1")
    _demand_entry(await store.put(kind, "k", {"n": 2}, expected=1), "k", 2, {"n": 2}, "the second `put`")
    await demand_refused(store.put(kind, "k", {"n": 3}, expected=1), VersionConflict, "a late change")
    _demand_entry(await store.get(kind, "k"), "k", 2, {"n": 2}, "at the end")


async def changes_do_not_overwrite_each_other(subject: StoreUnderTest) -> None:
    """Concurrent read-increment-write updates with retries on conflict lose no increment."""
    stores, kind = await subject.pair(), subject.run_id("kind")
    first = stores[0]
    await first.put(kind, "sum", {"n": 0}, expected=0)

    async def add(number: int) -> None:
        store = stores[number % 2]
        for _ in range(INCREMENTS):
            while True:
                entry = await store.get(kind, "sum")
                assert entry is not None
                try:
                    await store.put(kind, "sum", {"n": entry.body["n"] + 1}, expected=entry.version)
                    break
                except VersionConflict:
                    await asyncio.sleep(0)

    writers = max(subject.writers // 4, 2)
    await asyncio.gather(*(add(number) for number in range(writers)))
    total = writers * INCREMENTS
    _demand_entry(await first.get(kind, "sum"), "sum", total + 1, {"n": total}, f"after {total} additions")


async def one_of_many_creators_wins(subject: StoreUnderTest) -> None:
    """Of many concurrent creations of one document, exactly one succeeds."""
    stores, kind = await subject.pair(), subject.run_id("kind")
    calls = [stores[number % 2].put(kind, "once", {"by": number}, expected=0) for number in range(subject.writers)]
    winner, _ = await demand_one_winner(calls, VersionConflict, "creators")
    _demand_entry(await stores[0].get(kind, "once"), "once", 1, {"by": winner}, "the document")


async def documents_are_scanned_in_order(subject: StoreUnderTest) -> None:
    """`scan` returns the documents of one kind by key, in code point order, after a key and at most `limit`."""
    store, kind = await subject.durable(), subject.run_id("kind")
    keys = ["B", "a", "a ", "a/b", "ab", "a.b", "Z", "z", "é", "e\u0301", "10", "2", "\uffee", "𝕒", "ß", "_", "~"]
    for key in keys:
        await store.put(kind, key, {"key": key}, expected=0)
    await store.put(kind + "x", "a", {"other": True}, expected=0)
    wanted = sorted(keys)
    found = [entry.key for entry in await store.scan(kind)]
    demand(found == wanted, f"{found!a} instead of {wanted!a}")
    paged: list[str] = []
    while page := await store.scan(kind, after=paged[-1] if paged else "", limit=4):
        demand(len(page) <= 4, f"{len(page)} documents on a page of 4")
        paged += [entry.key for entry in page]
        if len(paged) > len(keys):
            break
    demand(paged == wanted, f"pages of 4 give {paged!a}")
    demand(
        [e.key for e in await store.scan(kind, after="z", limit=2)] == wanted[wanted.index("z") + 1 :][:2], "after z"
    )
    demand(not await store.scan(subject.run_id("unknown kind")), "an unknown kind has documents")
    other = [entry.kind for entry in await store.scan(kind + "x")]
    demand(other == [kind + "x"], f"the other kind has {other!a}")


async def document_bodies_come_back_unchanged(subject: StoreUnderTest) -> None:
    """A document stores any JSON value, and later changes of the writer's object do not affect it."""
    store, kind = await subject.durable(), subject.run_id("kind")
    for key, body in BODIES.items():
        await demand_accepted(store.put(kind, key, body, expected=0), f"{key}: put")
        _demand_entry(await store.get(kind, key), key, 1, body, key)
    mine = {"list": [1]}
    await store.put(kind, "mine", mine, expected=0)
    mine["list"].append(2)
    _demand_entry(await store.get(kind, "mine"), "mine", 1, {"list": [1]}, "after the writer changed its own value")
