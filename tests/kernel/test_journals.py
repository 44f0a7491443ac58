"""Journaled runs: what is written, and how a run that was cut anywhere goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from bobcat import (
    DuplicateRecord,
    FinalAnswer,
    MemoryStore,
    Message,
    StepRecord,
    ToolCall,
    Usage,
    auto_approve,
    idempotency_key,
    step_record_from_json,
    step_record_to_json,
)
from kernel.scripted import Tools, call, seen


class Power(BaseException):
    """The process dies."""


class Dying(MemoryStore):
    """Dies before or after the n-th append from now on."""

    def __init__(self) -> None:
        super().__init__()
        self.fuse = -1
        self.after = False

    async def append(self, record: StepRecord) -> None:
        self.fuse -= 1
        if self.fuse == 0 and not self.after:
            raise Power
        await super().append(record)
        if self.fuse == 0:
            raise Power


def records(store: MemoryStore, run_id: str = "r") -> list[StepRecord]:
    return list(asyncio.run(_load(store, run_id)))


async def _load(store: MemoryStore, run_id: str) -> Any:
    return await store.load(run_id)


def journaled(store: MemoryStore, *replies: object, **options: Any) -> Any:
    return seen(*replies, store=store, run_id="r", **options)


def test_a_run_writes_its_records_in_the_order_of_things() -> None:
    store = MemoryStore()
    run = journaled(store, ToolCall("echo", {"text": "a"}, "call-1", Usage(1, 2)), FinalAnswer("bye"))
    written = records(store)
    assert [record.seq for record in written] == list(range(6))
    durations = [record.body.get("duration_ms") for record in written if record.kind == "action.result"]
    bodies = [(r.kind, {name: value for name, value in r.body.items() if name != "chain"}) for r in written]
    binding = written[0].body["binding"]
    assert bodies == [
        ("run.started", {"task": "task", "bundle_id": run.result.bundle_id, "binding": binding}),
        (
            "model.output",
            {"step": 0, "type": "tool_call", "tool": "echo", "args": {"text": "a"}, "call_id": "call-1",
             "usage": {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": None, "cache_write_tokens": None,
                       "model": None}},
        ),
        (
            "action.intent",
            {"step": 0, "tool": "echo", "verdict": "allow", "effect": "unsafe", "args": {"text": "a", "times": 1}},
        ),
        (
            "action.result",
            {"step": 0, "tool": "echo", "verdict": "allow", "ok": True, "error": None, "duration_ms": durations[0],
             "message": "[ok] a"},
        ),
        ("model.output", {"step": 1, "type": "final_answer", "text": "bye"}),
        ("final", {"step": 1, "final_answer": "bye"}),
    ]  # fmt: skip
    keys = {record.kind: record.idempotency_key for record in written}
    key = idempotency_key("r", 0, "echo", {"text": "a"})
    assert keys["action.intent"] == keys["action.result"] == key
    assert {keys[kind] for kind in ("run.started", "model.output", "final")} == {""}


def test_keys_are_those_of_the_contract() -> None:
    assert idempotency_key("r1", 0, "counted", {"msg": "hi"}) == "80ddd2a186ea2fb799398446828413e6"
    assert idempotency_key("r1", 0, "charge", {"amount": 42}) == "0fe89e137880def1b4206e9205e00c71"


def test_the_correlation_id_is_the_run_id_and_a_resumed_run_gets_its_own() -> None:
    store = MemoryStore()
    assert journaled(store, lambda _: 1 / 0).result.correlation_id == "r"
    again = journaled(store, FinalAnswer("x")).result.correlation_id
    assert again.startswith("r#")
    assert len(again) == len("r#") + 8
    assert journaled(store, correlation_id="mine").result.correlation_id == "mine"


def test_a_finished_run_gives_the_same_answer_without_a_call() -> None:
    store = MemoryStore()
    journaled(store, call("echo", text="a"), FinalAnswer("x", Usage(3, 4)))
    count = len(records(store))
    again = journaled(store, call("echo", text="b"))
    assert (again.result.final_answer, again.result.steps_taken, again.result.usage) == ("x", 1, Usage(3, 4, 0, 0))
    assert again.kinds == ["run.started", "run.succeeded"]
    assert again.bodies("run.succeeded") == [{"final_answer": "x", "replayed": True}]
    assert (again.agent.seen, again.ran, len(records(store))) == ([], [], count)


def test_a_resumed_run_replays_what_is_on_record_and_goes_on() -> None:
    store = MemoryStore()
    journaled(store, call("echo", text="a"), [call("echo", text="b"), call("query", text="c")], lambda _: 1 / 0)
    again = journaled(store, call("echo", text="d"))
    assert again.ran == [("echo", {"text": "d", "times": 1})]
    assert again.tool_messages == ["[ok] a", "[ok] b", "[ok] c LIMIT 1", "[ok] d"]
    assert again.bodies("run.resumed") == [{"records": 10, "attempt": 2}]
    assert [body["tool"] for body in again.bodies("step.replayed")] == ["echo", "echo", "query"]
    assert len(again.agent.seen) == 2


def test_a_changed_policy_is_announced_on_resume() -> None:
    store = MemoryStore()
    first = journaled(store, lambda _: 1 / 0)
    second = journaled(store, policy="rules: []")
    assert second.bodies("run.bundle_changed") == [
        {
            "journaled_bundle_id": first.result.bundle_id,
            "current_bundle_id": second.result.bundle_id,
            "detail": "resuming under a different policy than the journal was written with",
        }
    ]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("fuse", range(1, 9))
def test_a_run_cut_at_any_record_resumes_and_marks_what_may_have_run_twice(fuse: int, after: bool) -> None:
    store, tools = Dying(), Tools()
    store.fuse, store.after = fuse, after

    def once(conversation: Sequence[Message]) -> object:
        return FinalAnswer("done") if len(conversation) > 1 else call("deploy", version="1")

    with pytest.raises(Power):
        journaled(store, once, once, tools=tools, on_approval=auto_approve("alice"))
    ran_before = len(tools.ran)
    again = journaled(store, once, once, tools=tools, on_approval=auto_approve("alice", uncertain=True))
    assert again.result.final_answer == "done"
    uncertain = (fuse, after) in ((5, True), (6, False))
    assert ("action.uncertain" in again.kinds) is uncertain
    assert len(tools.ran) == (2 if ran_before and uncertain else 1)
    if uncertain:
        result = next(record for record in records(store) if record.kind == "action.result")
        assert result.body["uncertain_retry"] is True


DENY_RETRIES = """
rules:
  - {id: no-retry, match: {context.extra.uncertain_retry: true}, decision: deny, reason: may have run, priority: 1}
  - {id: echo, match: {tool: echo}, decision: allow}
"""


def test_a_policy_can_refuse_to_run_again_what_may_have_run() -> None:
    store, tools = Dying(), Tools()
    store.fuse, store.after = 4, False
    with pytest.raises(Power):
        journaled(store, call("echo", text="a"), tools=tools, policy=DENY_RETRIES)
    store.fuse = 3  # the second attempt dies as well, after its deny is on record as an intent
    with pytest.raises(Power):
        journaled(store, tools=tools, policy=DENY_RETRIES)
    third = journaled(store, tools=tools, policy=DENY_RETRIES)
    assert len(tools.ran) == 1
    assert third.tool_messages == ["[denied] may have run; an earlier attempt of this action may have taken effect"]


def test_a_switch_thrown_during_an_approval_leaves_no_uncertain_outcome() -> None:
    from bobcat import ApprovalDecision, CancelToken

    store, token = MemoryStore(), CancelToken()

    async def throws(_: object) -> ApprovalDecision:
        token.cancel("stop")
        return ApprovalDecision(True, "alice")

    journaled(store, call("deploy", version="1"), on_approval=throws, cancel=token)
    assert "action.intent" not in [record.kind for record in records(store)]
    again = journaled(store, on_approval=auto_approve("alice"))
    assert "action.uncertain" not in again.kinds
    assert len(again.ran) == 1


def test_a_worker_that_lost_the_race_stops_before_the_effect() -> None:
    class Taken(MemoryStore):
        async def append(self, record: StepRecord) -> None:
            if record.kind == "action.intent":
                raise DuplicateRecord
            await super().append(record)

    run = journaled(Taken(), call("echo", text="a"))
    assert run.ran == []
    assert run.result.error == "superseded: another worker is executing run 'r'"
    assert run.bodies("run.superseded") == [{"detail": "duplicate journal position"}]


def test_a_memory_store_refuses_a_taken_position() -> None:
    store = MemoryStore()
    journaled(store)
    with pytest.raises(DuplicateRecord, match="already has a record 0"):
        asyncio.run(store.append(records(store)[0]))


def test_records_survive_json() -> None:
    store = MemoryStore()
    journaled(store, call("echo", text="a"))
    for record in records(store):
        again = step_record_from_json(step_record_to_json(record))
        assert (again.run_id, again.seq, again.kind, again.timestamp) == (
            record.run_id, record.seq, record.kind, record.timestamp,
        )  # fmt: skip
        assert dict(again.body) == dict(record.body)


def test_a_journal_of_invalid_arguments_replays_the_same_refusal() -> None:
    store = MemoryStore()
    journaled(store, ToolCall("echo", [1]), lambda _: 1 / 0)  # type: ignore[arg-type]
    assert journaled(store).tool_messages == ["[error] arguments must be a mapping, got list"]
