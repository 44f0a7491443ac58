"""The maker of a run's records: positions, hashes, and what is kept."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bobcat._core import Chain
from bobcat.journal.keys import chain_hash
from bobcat.journal.records import StepRecord
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
