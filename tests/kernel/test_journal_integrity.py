"""Journals that are not what was written, or not of this run: they are refused, and nothing is executed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bobcat
from bobcat import FinalAnswer, MemoryStore, Principal, RunResult, StepRecord, ToolCall, ToolSet, tool
from bobcat.runtime.hash_chain import DamagedJournal, check_chain
from kernel.scripted import Scripted

ALLOW = bobcat.compile_policy("rules: [{id: r, match: {}, decision: allow}]")
REPLIES = (ToolCall("act", {"n": 0}), ToolCall("act", {"n": 1}))
RAN: list[int] = []


@tool(effect="idempotent")
async def act(n: int) -> str:
    RAN.append(n)
    return f"did {n}"


class Shelf:
    """A store of two methods, whose records a test may change."""

    def __init__(self, records: Any = ()) -> None:
        self.records: list[StepRecord] = list(records)

    async def append(self, record: StepRecord) -> None:
        self.records.append(record)

    async def load(self, run_id: str) -> list[StepRecord]:
        return list(self.records)


def run(store: Any, *replies: object, **options: Any) -> RunResult:
    agent = options.pop("agent", None) or Scripted(*replies)
    given = {"tools": ToolSet.from_functions(act), "policy": ALLOW, "run_id": "r", **options}
    return asyncio.run(bobcat.run_agent(agent, given.pop("task", "task"), store=store, **given))


def whole(*, finished: bool = True) -> Shelf:
    """The journal of a run that made two calls, and then answered or failed."""
    shelf = Shelf()
    run(shelf, *REPLIES, FinalAnswer("over") if finished else (lambda _: 1 / 0))
    RAN.clear()
    return shelf


def with_body(record: StepRecord, **changed: Any) -> StepRecord:
    return replace(record, body={**record.body, **changed})


def unchained(record: StepRecord) -> StepRecord:
    return replace(record, body={name: value for name, value in record.body.items() if name != "chain"})


def at(kind: str, records: list[StepRecord]) -> int:
    return next(index for index, record in enumerate(records) if record.kind == kind)


def forge(records: list[StepRecord], kind: str, **changed: Any) -> None:
    position = at(kind, records)
    records[position] = with_body(records[position], **changed)


def swap(records: list[StepRecord]) -> None:
    first, second = records[2], records[3]
    records[2], records[3] = replace(second, seq=2), replace(first, seq=3)


TAMPERINGS: dict[str, Callable[[list[StepRecord]], Any]] = {
    "a result": lambda records: forge(records, "action.result", message="[ok] did nothing"),
    "a reply": lambda records: forge(records, "model.output", args={"n": 9}),
    "an intent": lambda records: forge(records, "action.intent", verdict="deny"),
    "the policy": lambda records: forge(records, "run.started", bundle_id="x"),
    "the answer": lambda records: forge(records, "final", final_answer="yes"),
    "a key": lambda records: records.__setitem__(2, replace(records[2], idempotency_key="0" * 32)),
    "a kind": lambda records: records.__setitem__(2, replace(records[2], kind="note")),
    "two records swapped": swap,
    "a record missing": lambda records: records.pop(3),
    "the first record missing": lambda records: records.pop(0),
    "a record twice": lambda records: records.append(records[3]),
    "a record of another run": lambda records: records.__setitem__(3, replace(records[3], run_id="s")),
    "a record without a hash": lambda records: records.__setitem__(4, unchained(records[4])),
    "a record put in": lambda records: records.append(
        StepRecord("r", len(records), "note", "", {}, records[0].timestamp)
    ),
}


@pytest.mark.parametrize("name", TAMPERINGS)
# lynx-agent defect 66
def test_a_journal_that_was_changed_is_refused(name: str) -> None:
    shelf = whole()
    TAMPERINGS[name](shelf.records)
    before = list(shelf.records)
    result = run(shelf, FinalAnswer("again"))
    assert str(result.error).startswith("journal refused: "), result
    assert (RAN, shelf.records) == ([], before)


def test_a_journal_of_another_run_is_refused() -> None:
    shelf = whole()
    shelf.records = [replace(record, run_id="s") for record in shelf.records]
    assert run(shelf).error == "journal refused: record 0 belongs to another run, 's'"


@pytest.mark.parametrize("cut", range(1, 9))
def test_a_tail_that_was_cut_off_is_found_where_the_store_keeps_a_status(cut: int) -> None:
    store = MemoryStore()
    run(store, *REPLIES, FinalAnswer("over"))
    RAN.clear()
    for seq in range(cut, 9):
        del store._runs["r"][seq]
    result = run(store, *REPLIES)
    assert str(result.error).startswith("journal refused: the store reports ")
    assert RAN == []


def test_a_tail_of_a_failed_run_that_was_cut_off_is_found_too() -> None:
    store = MemoryStore()
    run(store, *REPLIES, lambda _: 1 / 0)
    RAN.clear()
    del store._runs["r"][7]
    result = run(store, *REPLIES)
    assert result.error == "journal refused: the store reports 8 records for the run, but 7 exist"
    assert RAN == []


def test_an_answer_that_is_missing_is_found_also_where_the_store_counts_no_records() -> None:
    store = MemoryStore()
    run(store, *REPLIES, FinalAnswer("over"))
    RAN.clear()
    del store._runs["r"][8]
    asyncio.run(store.set_status("r", "succeeded"))
    result = run(store, *REPLIES)
    assert (
        result.error == "journal refused: the store reports that the run succeeded, but the journal has no final answer"
    )
    assert RAN == []


def test_another_journal_with_hashes_of_its_own_is_not_the_one_that_the_store_knows() -> None:
    store = MemoryStore()
    run(store, *REPLIES, FinalAnswer("over"))
    another = Shelf()
    run(another, ToolCall("act", {"n": 8}), ToolCall("act", {"n": 9}), FinalAnswer("forged"))
    store._runs["r"] = {record.seq: record for record in another.records}
    result = run(store)
    assert result.error == "journal refused: the last record does not match the hash that the store reports"


def test_a_cut_tail_is_what_a_crash_leaves_in_a_store_of_two_methods() -> None:
    """This is not detected, and is said so in the documentation."""
    shelf = whole()
    shelf.records = shelf.records[:4]
    assert run(shelf, *REPLIES[1:], FinalAnswer("again")).final_answer == "again"
    assert RAN == [1]


@given(st.data())
def test_no_single_change_of_a_record_goes_unseen(data: st.DataObject) -> None:
    records = list(WHOLE)
    position = data.draw(st.integers(0, len(records) - 1))
    record = records[position]
    name = data.draw(st.sampled_from(sorted(record.body)))
    value = data.draw(st.one_of(st.none(), st.text(max_size=3), st.integers(0, 9), st.booleans()))
    changed = replace(record, body={**record.body, name: value})
    records[position] = changed
    if record.body[name] == value and type(record.body[name]) is type(value):
        assert check_chain(records, "r")
        return
    if name == "chain" and value is None:
        return  # a record without a hash at the very end of an unchained journal: covered above
    with pytest.raises(DamagedJournal):
        check_chain(records, "r")


WHOLE = tuple(whole().records)


def test_the_hash_survives_what_a_store_makes_of_a_record() -> None:
    """Lists for tuples, strings for keys, names for what JSON has no form for."""
    odd = {"n": (1, 2), "deep": {2: "b", 10: "a"}, "set": {3, 1}, "nan": float("nan"), "text": "\ud800"}

    @tool(effect="idempotent")
    async def take(**anything: Any) -> str:
        return "taken"

    shelf, tools = Shelf(), ToolSet.from_functions(take)
    run(shelf, ToolCall("take", odd), lambda _: 1 / 0, tools=tools)
    shelf.records = [bobcat.step_record_from_json(bobcat.step_record_to_json(record)) for record in shelf.records]
    assert run(shelf, FinalAnswer("over"), tools=tools).final_answer == "over"


def test_a_journal_without_hashes_is_gone_on_with_and_hashed_from_there() -> None:
    shelf = whole(finished=False)
    shelf.records = [unchained(record) for record in shelf.records[:4]]
    assert run(shelf, lambda _: 1 / 0).error == "agent.step raised: ZeroDivisionError: division by zero"
    assert [record.body.get("chain") is not None for record in shelf.records[3:6]] == [False, True, True]
    kept = list(shelf.records)
    assert run(shelf, FinalAnswer("over")).final_answer == "over"
    forge(kept, "action.result", message="[ok] nothing")
    assert str(run(Shelf(kept)).error).startswith("journal refused: record 4 was changed")


# lynx-agent defect 66
def test_a_forged_record_without_a_hash_must_at_least_make_sense() -> None:
    shelf = whole()
    plain = [unchained(record) for record in shelf.records]
    for kind, changed in (("action.result", {"tool": "other"}), ("final", {"final_answer": "forged"})):
        forged = list(plain)
        forge(forged, kind, **changed)
        assert str(run(Shelf(forged)).error).startswith("journal refused: the ")
    for position in (0, 3):
        gap = [*plain[:position], *plain[position + 1 :]]
        assert str(run(Shelf(gap)).error).startswith(f"journal refused: record {position + 1} follows record ")
    twice = [*plain, plain[3]]
    assert run(Shelf(twice)).error == "journal refused: record 3 is duplicated"
    half = [*plain[:3], *shelf.records[3:]]
    assert run(Shelf(half)).error == "journal refused: record 3 has a hash, and those before it do not"
    forged = list(plain)
    forged[3] = replace(forged[3], idempotency_key="0" * 32)
    assert run(Shelf(forged)).error == "journal refused: the result of step 0 has the key of another action"


def other_tool(**options: Any) -> ToolSet:
    @tool(**{"effect": "idempotent", **options})
    async def act(n: int, m: int) -> str:
        RAN.append(n)
        return "other"

    return ToolSet.from_functions(act)


class Somebody(Scripted):
    """Another agent."""


def unsafe_act() -> ToolSet:
    definition = ToolSet.from_functions(act).get("act")
    return ToolSet({"act": replace(definition, metadata=replace(definition.metadata, effect="none"))})


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("task", {"task": "another"}, "another task"),
        ("tools", {"tools": ToolSet()}, "other tools: `act`"),
        ("tools", {"tools": other_tool()}, "other tools: `act`"),
        ("tools", {"tools": unsafe_act()}, "other tools: `act`"),
        ("agent", {"agent": Somebody(FinalAnswer("x"))}, "agent `Scripted`, not `Somebody`"),
        ("principal", {"principal": Principal("user", "eve")}, "principal `user:anonymous`, not `user:eve`"),
    ],
)
# lynx-agent defect 65
def test_a_run_is_resumed_as_what_it_was_begun_as(
    name: str, options: dict[str, Any], text: str, finished: bool
) -> None:
    shelf = whole(finished=finished)
    result = run(shelf, FinalAnswer("x"), **options)
    assert result.error == (
        f"journal refused: the run was begun with {text}; if that is meant, pass allow_changed=('{name}',)"
    )
    assert RAN == []
    allowed = run(shelf, FinalAnswer("x"), allow_changed=(name,), **options)
    assert allowed.final_answer == ("over" if finished else "x")


def test_a_change_that_was_allowed_is_what_the_run_is_bound_to_from_then_on() -> None:
    shelf = whole(finished=False)
    run(shelf, lambda _: 1 / 0, task="another", allow_changed=("task",))
    assert str(run(shelf, FinalAnswer("x")).error).startswith("journal refused: the run was begun with another task")
    assert run(shelf, FinalAnswer("x"), task="another").final_answer == "x"


def test_an_agent_may_say_who_it_is() -> None:
    shelf = Shelf()
    first, second = Scripted(lambda _: 1 / 0), Somebody(FinalAnswer("x"))
    first.identity = second.identity = "clerk v1"  # type: ignore[attr-defined]
    run(shelf, agent=first)
    assert shelf.records[0].body["binding"]["agent"] == "clerk v1"
    assert run(shelf, agent=second).final_answer == "x"


def test_the_task_of_an_older_journal_counts_too() -> None:
    shelf = whole(finished=False)
    shelf.records = [unchained(record) for record in shelf.records[:4]]
    del shelf.records[0].body["binding"]  # type: ignore[attr-defined]
    assert str(run(shelf, task="another").error).startswith("journal refused: the run was begun with another task")


def test_another_policy_is_announced_and_not_refused() -> None:
    shelf = whole(finished=False)
    seen: list[str] = []

    async def sink(event: Any) -> None:
        seen.append(event.kind)

    policy = bobcat.compile_policy("rules: []")
    assert run(shelf, FinalAnswer("x"), policy=policy, sinks=[sink]).final_answer == "x"
    assert "run.bundle_changed" in seen


def test_a_store_that_gives_back_no_records_at_all_fails_as_before() -> None:
    async def load(run_id: str) -> Any:
        return [SimpleNamespace(seq=0, kind="run.started")]

    shelf = Shelf()
    shelf.load = load  # type: ignore[method-assign]
    assert str(run(shelf).error).startswith("store.load failed: AttributeError")


# lynx-agent defect 68
def test_what_is_on_record_of_a_failure_has_no_paths_of_ours() -> None:
    """The text of a failing tool ends its traceback at the tool's own frame; see `docs/explanation/durability.md`."""

    @tool()
    async def fails() -> None:
        raise ValueError("wrong")

    shelf = Shelf()
    run(shelf, ToolCall("fails", {}), tools=ToolSet.from_functions(fails))
    result = next(record for record in shelf.records if record.kind == "action.result")
    assert "bobcat/runtime" not in result.body["message"]
    assert "bobcat/executors" not in result.body["message"]
