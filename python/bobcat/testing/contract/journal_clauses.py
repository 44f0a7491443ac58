"""Journal clauses of every `RunStore`: `append`, `load`, and the uniqueness of positions."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from bobcat.journal.records import DuplicateRecord
from bobcat.testing.contract.subject import (
    NotApplicable,
    StoreUnderTest,
    append_all,
    demand,
    demand_accepted,
    demand_one_winner,
    demand_refused,
    demand_same,
    record,
    refusal,
    steps,
)
from bobcat.text.json_text import format_exception

RACES = 8
"""Contested positions in a race."""

CANCELLED_AFTER = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55)
"""Rounds of the event loop after which an append is cancelled."""

CANCELLED_AFTER_SECONDS = (0.0002, 0.0005, 0.001, 0.002, 0.004, 0.008)
"""Seconds after which an append is cancelled, for stores with threads or a network."""

LARGE = 1024 * 1024
"""Characters in a body that every store must keep; the whole context of a model fits."""

HUGE = 16 * LARGE
"""Characters in a body that a store may reject as a whole."""


async def what_was_appended_is_loaded(subject: StoreUnderTest) -> None:
    """The records of a run are loaded as they were appended, by position."""
    store, run_id = await subject.store(), subject.run_id()
    wanted = [
        record(run_id, 0, {"task": "t", "bundle_id": None}, kind="run.started", idempotency_key=""),
        record(run_id, 1, {"step": 0, "args": {"a": [1, 2.5, True, None, "x", {}], "b": []}}, kind="model.output"),
        record(run_id, 2, {}),
    ]
    await append_all(store, wanted)
    demand_same(await store.load(run_id), wanted, "load")


async def an_unknown_run_is_empty(subject: StoreUnderTest) -> None:
    """Loading a run without records returns an empty sequence, without an error."""
    found = await (await subject.store()).load(subject.run_id("never-written"))
    demand(len(found) == 0, f"{len(found)} records")


async def a_taken_position_is_refused(subject: StoreUnderTest) -> None:
    """A second append to one position raises `DuplicateRecord`, even for an equal record, and changes nothing."""
    store, run_id = await subject.store(), subject.run_id()
    first = record(run_id, 0, {"mine": True})
    await store.append(first)
    await demand_refused(store.append(record(run_id, 0, {"mine": False})), DuplicateRecord, "another record")
    await demand_refused(store.append(record(run_id, 0, {"mine": True})), DuplicateRecord, "an equal record")
    demand_same(await store.load(run_id), [first], "after the refusals")


async def records_are_ordered_by_number(subject: StoreUnderTest) -> None:
    """Records are ordered by position as a number (2 before 10), in any order of arrival, with gaps allowed."""
    store, run_id = await subject.store(), subject.run_id()
    wanted = [record(run_id, seq) for seq in (0, 1, 2, 9, 10, 11, 99, 100, 101, 5_000_000_000)]
    await append_all(store, random.Random(7).sample(wanted, len(wanted)))
    demand_same(await store.load(run_id), wanted, "load")


async def a_long_journal_comes_back_whole(subject: StoreUnderTest) -> None:
    """A run of 300 records is loaded whole and in order."""
    store, run_id = await subject.store(), subject.run_id()
    wanted = [record(run_id, seq, {"step": seq, "text": "x" * (seq % 97)}) for seq in range(300)]
    await append_all(store, wanted)
    demand_same(await store.load(run_id), wanted, "load")


async def a_loaded_journal_stays_as_it_was(subject: StoreUnderTest) -> None:
    """A sequence returned by `load` does not change after further appends."""
    store, run_id = await subject.store(), subject.run_id()
    await store.append(record(run_id, 0))
    before = await store.load(run_id)
    await store.append(record(run_id, 1))
    demand(len(before) == 1, f"the sequence grew to {len(before)} records")


async def runs_are_kept_apart(subject: StoreUnderTest) -> None:
    """Run ids that differ in one character are different runs; a store may reject an unusual id."""
    store = await subject.store()
    unusual = "a A a. a/b a\\b ../a a%2fb a%2Fb a* a? a: a{b} a::0:node é e\u0301 ß ss 𝕒 a\u200d".split()
    unusual += ["a ", " a", "a b", "a\tb", "a\nb", "'; DROP TABLE runs; --", "x" * 200, "x" * 201, "\ud800", "a\0b"]
    kept = []
    for number, name in enumerate(unusual):
        wanted = record(subject.run_id(name), 0, {"number": number})
        error = await refusal(store.append(wanted))
        if error is None:
            kept.append(wanted)
        demand(not isinstance(error, DuplicateRecord), f"run id {name!a} was treated as another one")
    demand(len(kept) >= 20, f"only {len(kept)} of {len(unusual)} run ids are kept")
    for wanted in kept:
        demand_same(await store.load(wanted.run_id), [wanted], f"run id {wanted.run_id!a}")


async def one_of_many_writers_wins(subject: StoreUnderTest) -> None:
    """Of many writers racing for a position, exactly one wins, the others get `DuplicateRecord`, and the winner's
    record is stored."""
    run_id = subject.run_id()
    stores = [await subject.store(), await subject.other()]
    for seq in range(RACES):
        calls = [
            stores[writer % 2].append(record(run_id, seq, {"writer": writer})) for writer in range(subject.writers)
        ]
        winner, _ = await demand_one_winner(calls, DuplicateRecord, f"writers of position {seq}")
        found = await stores[0].load(run_id)
        demand(
            len(found) == seq + 1 and found[-1].body["writer"] == winner,
            f"the record at position {seq} is not the winner's",
        )


async def writers_of_different_runs_do_not_disturb_each_other(subject: StoreUnderTest) -> None:
    """Many runs written concurrently, each by its own writer, are all loaded whole."""
    store = await subject.store()
    wanted = {
        run_id: [record(run_id, seq) for seq in range(5)]
        for run_id in (subject.run_id(str(number)) for number in range(subject.writers))
    }
    await asyncio.gather(*(append_all(store, records) for records in wanted.values()))
    for run_id, records in wanted.items():
        demand_same(await store.load(run_id), records, f"run {run_id}")


async def another_store_object_sees_it(subject: StoreUnderTest) -> None:
    """Records appended by one store object are immediately visible to another one over the same storage."""
    if not subject.shared:
        raise NotApplicable("store objects share nothing (`shared=False`)")
    run_id = subject.run_id()
    wanted = record(run_id, 0)
    await (await subject.store()).append(wanted)
    other = await subject.other()
    demand_same(await other.load(run_id), [wanted], "the other object")
    await demand_refused(other.append(record(run_id, 0)), DuplicateRecord, "an append through the other object")


BODIES: dict[str, Any] = {
    "text of many scripts": {"text": "ÄÖ ελλ 中文 עברית हिन्दी 🐈‍⬛ \u202e \u2028 \ufeff", "ключ": "🙂", "": ""},
    "control characters": {"text": "".join(map(chr, range(32))) + "\x7f\x85", "nul\0key": "\0"},
    "composed and decomposed": {"é": "é", "e\u0301": "e\u0301"},
    "lone surrogates": {"text": "\ud800 and \udfff", "\udc80": 1, "pair": "\U0001f600", "halves": "\ud83d\ude00"},
    "noncharacters": {"text": "\ufffe\uffff\U0010ffff"},
    "quotes and escapes": {"text": "\"'`\\ \\u0041 %s {} $1 -- */ \r\n"},
    "large integers": {"numbers": [2**53 + 1, 2**63, -(2**64), 10**300]},
    "floating point": {"numbers": [0.1, -0.0, 1e-320, 1.7976931348623157e308, 5e-324, 1e16, 123456789.12345679]},
    "truth and numbers": {"values": [True, 1, 1.0, False, 0, None, "true", "1"]},
    "nesting": {"a": [[[[{"b": [{"c": {"d": [[]]}}]}]]]]},
    "many keys": {f"key {number}": number for number in range(2000)},
}
"""JSON that every store must keep unchanged."""

NOT_JSON: dict[str, Any] = {
    "not a number": {"values": [float("nan"), float("inf"), float("-inf")]},
    "bytes": {"raw": b"\x00\xff binary", "more": bytearray(b"\x80")},
    "sets and tuples": {"set": {1, 2}, "tuple": (1, (2, 3))},
}
"""Values without a JSON form: kept as `step_record_to_json` writes them, or rejected."""


async def bodies_come_back_unchanged(subject: StoreUnderTest) -> None:
    """Any JSON is loaded unchanged: every script, NUL, lone surrogates, large integers, every float."""
    store, run_id = await subject.store(), subject.run_id()
    for seq, (name, body) in enumerate(BODIES.items()):
        wanted = record(run_id, seq, body)
        await demand_accepted(store.append(wanted), f"{name}: append")
        found = await store.load(run_id)
        demand(len(found) == seq + 1, f"{name}: {len(found)} records instead of {seq + 1}")
        demand_same(found[-1:], [wanted], name)


async def what_json_cannot_say_is_kept_or_refused(subject: StoreUnderTest) -> None:
    """NaN, bytes and sets are kept as `step_record_to_json` writes them, or rejected as a whole."""
    store = await subject.store()
    for name, body in NOT_JSON.items():
        run_id = subject.run_id(name)
        wanted = record(run_id, 0, body)
        error = await refusal(store.append(wanted))
        demand_same(await store.load(run_id), [wanted] if error is None else [], name)


async def times_keys_and_kinds_come_back(subject: StoreUnderTest) -> None:
    """Timestamps keep their microseconds and their point in time, keys and kinds their text, including empty keys."""
    store, run_id = await subject.store(), subject.run_id()
    wanted = [
        record(run_id, 0, kind="x.custom-kind", idempotency_key=""),
        record(run_id, 1, kind="вид", idempotency_key="ключ 🔑 'quoted'"),
    ]
    await append_all(store, wanted)
    found = await store.load(run_id)
    demand_same(found, wanted, "load")
    demand(all(each.timestamp.tzinfo is not None for each in found), "a timestamp lost its zone")


async def a_large_body_is_kept(subject: StoreUnderTest) -> None:
    """A body of one megabyte is stored."""
    store, run_id = await subject.store(), subject.run_id()
    wanted = record(run_id, 0, {"text": "0123456789abcdef" * (LARGE // 16)})
    await store.append(wanted)
    demand_same(await store.load(run_id), [wanted], "load")


async def a_huge_body_is_kept_or_refused_whole(subject: StoreUnderTest) -> None:
    """A body of 16 megabytes is stored, or rejected with an error other than `DuplicateRecord`; after a rejection the
    position is free."""
    store, run_id = await subject.store(), subject.run_id()
    wanted = record(run_id, 0, {"text": "0123456789abcdef" * (HUGE // 16)})
    error = await refusal(store.append(wanted))
    if error is not None:
        demand(not isinstance(error, DuplicateRecord), "the error is `DuplicateRecord`")
        wanted = record(run_id, 0)
        await demand_accepted(store.append(wanted), "after the error an append")
    demand_same(await store.load(run_id), [wanted], "load")


async def a_cancelled_append_is_all_or_nothing(subject: StoreUnderTest) -> None:
    """An append that is cancelled at any time has stored the whole record or nothing of it, permanently: the record
    does not appear later, and the position is taken exactly if the record is present."""
    store = await subject.store()
    moments: list[int | float] = [*CANCELLED_AFTER, *CANCELLED_AFTER_SECONDS]
    for moment in moments:
        when = f"cancelled after {moment} {'rounds' if isinstance(moment, int) else 's'}"
        run_id = subject.run_id(str(moment))
        wanted = record(run_id, 0, {"text": "x" * 5000})
        task = asyncio.ensure_future(store.append(wanted))
        await (steps(moment) if isinstance(moment, int) else asyncio.sleep(moment))
        task.cancel()
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        demand(outcome is None or isinstance(outcome, asyncio.CancelledError), f"{when}: append ended with {outcome!r}")
        found = await store.load(run_id)
        demand_same(found, [wanted] if found or outcome is None else [], when)
        await asyncio.sleep(0.01)
        demand_same(await store.load(run_id), found, f"{when}, a moment later")
        error = await refusal(store.append(wanted))
        demand(
            isinstance(error, DuplicateRecord) if found else error is None,
            f"{when}, {'kept' if found else 'not kept'}: the next append "
            f"{'went through' if error is None else 'raised ' + format_exception(error)}",
        )
        demand_same(await store.load(run_id), [wanted], f"{when}, then appended again")
