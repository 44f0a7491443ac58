"""The maker of a run's records: positions, hashes, and what is kept."""

from __future__ import annotations

import asyncio
import gc
from datetime import UTC, datetime
from typing import Any

import pytest

from bobcat._core import Chain, RecordTemplate, Requests, frozen_if_flat
from bobcat.journal.keys import action_key_of, chain_hash
from bobcat.journal.records import StepRecord
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal, ToolMetadata
from bobcat.model.fast_init import positional_factory

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def hashed(previous: str, body: Any, run_id: str, seq: int, kind: str, key: str) -> str:
    return chain_hash(previous, body, run_id=run_id, seq=seq, kind=kind, key=key)


def test_each_record_has_the_hash_of_itself_after_the_one_before() -> None:
    chain = Chain(positional_factory(StepRecord), hashed, "r")
    head = ""
    for seq, body in enumerate([{"a": 1}, {"odd": {1, 2}}, {"nan": float("nan")}, {}]):
        head = hashed(head, dict(body), "r", seq, "kind", "key")
        assert chain.record("kind", body, "key", NOW) == StepRecord(
            "r", seq, "kind", "key", {**body, "chain": head}, NOW
        )
        assert body["chain"] == head
        chain.kept()
        assert (chain.seq, chain.head) == (seq + 1, head)


def test_a_record_that_is_not_kept_is_made_again_at_its_position() -> None:
    chain = Chain(positional_factory(StepRecord), hashed, "r")
    first = chain.record("kind", {"a": 1}, "", NOW)
    assert chain.record("kind", {"a": 1}, "", NOW) == first
    assert (chain.seq, chain.head) == (0, "")


def test_a_chain_goes_on_from_where_it_is_put() -> None:
    chain = Chain(positional_factory(StepRecord), hashed, "r")
    chain.seq, chain.head = 7, "f" * 64
    record = chain.record("kind", {}, "", NOW)
    assert record.seq == 7
    assert record.body["chain"] == hashed("f" * 64, {}, "r", 7, "kind", "")


def test_records_without_hashes_are_as_they_are_given() -> None:
    chain = Chain(positional_factory(StepRecord), None, "r")
    assert chain.record("kind", {"a": {1}}, "key", NOW) == StepRecord("r", 0, "kind", "key", {"a": {1}}, NOW)
    chain.kept()
    assert (chain.seq, chain.head) == (1, "")


def test_what_the_link_raises_comes_out_and_nothing_is_kept() -> None:
    def broken(*_: object) -> str:
        raise ZeroDivisionError

    chain = Chain(positional_factory(StepRecord), broken, "r")
    with pytest.raises(ZeroDivisionError):
        chain.record("kind", {"a": {1}}, "", NOW)
    assert (chain.seq, chain.head) == (0, "")


REPLY = ("step", "type", "tool", "args", "call_id")


def test_a_filled_form_is_the_record_of_the_same_body() -> None:
    made, filled = (
        Chain(positional_factory(StepRecord), hashed, "r"),
        Chain(positional_factory(StepRecord), hashed, "r"),
    )
    form = RecordTemplate("model.output", REPLY, {"type": "tool_call", "tool": 'say "é"'})
    for step, args in enumerate([{"b": 1, "a": [None]}, {"odd": {1, 2}}, {"nan": float("nan")}, {"\ud800": "x"}]):
        body = {"step": step, "type": "tool_call", "tool": 'say "é"', "args": args, "call_id": ""}
        expected = made.record("model.output", body, "key", NOW)
        record = filled.fill(form, (step, args, ""), "key", NOW)
        assert record == expected
        assert list(record.body) == [*REPLY, "chain"] == list(expected.body)
        made.kept()
        filled.kept()
        assert (filled.seq, filled.head) == (made.seq, made.head)


def test_forms_share_nothing_with_the_records_made_of_them() -> None:
    chain, form = Chain(positional_factory(StepRecord), hashed, "r"), RecordTemplate("k", ("a", "b"), {"b": None})
    first = chain.fill(form, (1,), "", NOW)
    first.body["b"] = "changed"  # type: ignore[index]
    assert chain.fill(form, (1,), "", NOW).body == {**first.body, "b": None}


def test_a_form_may_have_nothing_open_and_no_names() -> None:
    chain = Chain(positional_factory(StepRecord), hashed, "r")
    for names, fixed in ((), {}), (("a",), {"a": 1}), (("b", "a"), {"a": True, "b": "x"}):
        record = chain.fill(RecordTemplate("k", names, fixed), (), "", NOW)
        assert record.body == {**fixed, "chain": hashed("", fixed, "r", 0, "k", "")}


def test_a_filled_form_has_no_hash_where_records_have_none() -> None:
    chain = Chain(positional_factory(StepRecord), None, "r")
    assert chain.fill(RecordTemplate("k", ("a",), {}), ({1},), "", NOW) == StepRecord("r", 0, "k", "", {"a": {1}}, NOW)


@pytest.mark.parametrize(
    ("names", "fixed"),
    [(("a", "a"), {}), (("chain",), {}), (("a",), {"b": 1}), (("a",), {"a": {1}}), (("a",), {"a": "\ud800"})],
)
def test_an_invalid_form_is_refused(names: tuple[str, ...], fixed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        RecordTemplate("k", names, fixed)


@pytest.mark.parametrize("values", [(), (1, 2)])
def test_a_form_takes_as_many_values_as_are_open(values: tuple[int, ...]) -> None:
    with pytest.raises(TypeError):
        Chain(positional_factory(StepRecord), hashed, "r").fill(RecordTemplate("k", ("a",), {}), values, "", NOW)


@pytest.mark.parametrize("run_id", ["r", "r|1", "é", "\ud800"])
@pytest.mark.parametrize("tool", ["t", "t|1", "\ud800"])
def test_a_key_is_that_of_the_action_or_left_to_python(run_id: str, tool: str) -> None:
    chain = Chain(positional_factory(StepRecord), hashed, run_id)
    for args in ({"a": 1}, {"a": {1}}):
        key = chain.key(3, tool, args)
        plain = "|" not in run_id + tool and "\ud800" not in run_id + tool and args == {"a": 1}
        assert key == (action_key_of(run_id, 3, tool, args) if plain else None)


def test_a_write_that_is_done_at_once_is_kept() -> None:
    chain, log = Chain(positional_factory(StepRecord), hashed, "r"), []

    async def append(record: StepRecord) -> None:
        log.append((record.seq, chain.seq, chain.head))

    record = chain.record("k", {}, "", NOW)
    assert chain.keep(append(record)) is None
    assert log == [(0, 0, "")]
    assert (chain.seq, chain.head) == (1, record.body["chain"])


def test_a_write_that_waits_or_fails_is_not_kept() -> None:
    chain = Chain(positional_factory(StepRecord), hashed, "r")

    async def waits() -> None:
        await asyncio.sleep(0)

    async def fails() -> None:
        raise ZeroDivisionError

    chain.record("k", {}, "", NOW)
    writing = waits()
    assert chain.keep(writing) == (None,)
    writing.close()
    with pytest.raises(ZeroDivisionError):
        chain.keep(fails())
    assert (chain.seq, chain.head) == (0, "")


def test_the_records_of_plain_steps_are_no_work_for_the_garbage_collector() -> None:
    chain, form = Chain(positional_factory(StepRecord), hashed, "r"), RecordTemplate("k", ("args",), {})
    flat, deep = frozen_if_flat({"a": 1}), {"a": [1]}
    assert not gc.is_tracked(flat)
    record = chain.fill(form, (flat,), "", NOW)
    assert (gc.is_tracked(record), gc.is_tracked(record.body)) == (False, False)
    record = chain.fill(form, (deep,), "", NOW)
    assert (gc.is_tracked(record), gc.is_tracked(record.body)) == (True, True)


def test_requests_are_made_as_their_classes_make_them() -> None:
    made = Requests(
        positional_factory(ExecutionContext),
        positional_factory(ActionRequest),
        principal=Principal("user", "u"),
        environment="dev",
        workspace=".",
        correlation_id="c",
        extra={},
    ).of("t", {"a": 1}, ToolMetadata("low", False, ()), 3, NOW)
    context = ExecutionContext(Principal("user", "u"), "dev", ".", "c", 3, NOW, {})
    assert made == ActionRequest("t", {"a": 1}, ToolMetadata("low", False, ()), context)
