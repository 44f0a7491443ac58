"""Compressors: what they do to texts, to a run, and to its journal."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import FinalAnswer, Message, Policy, ToolCall, ToolSet, run_agent, tool
from bobcat.compression import (
    Compressor,
    compose_compressors,
    dedup_compressor,
    external_filter_compressor,
    identity_compressor,
    route_compressor,
    truncate_compressor,
)
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal, ToolMetadata
from bobcat.model.run import ActionResult, AuditEvent, ToolDef
from bobcat.stores import MemoryStore

ALLOW = Policy.compile("defaults: {on_no_match: allow}\nrules: []")
TEXTS = st.lists(st.sampled_from(["a", "b", "", "é" * 30, "x" * 200, "\n"]), max_size=60).map("\n".join)


async def nothing() -> str:
    return ""


def outcome(compressor: Compressor, value: object, compress: str | None = None) -> Any:
    metadata = ToolMetadata("low", True, (), compress=compress)
    context = ExecutionContext(Principal("user", "u"), "dev", ".", "c", 0, datetime.now(UTC))
    request = ActionRequest("t", {}, metadata, context)
    return asyncio.run(compressor(ActionResult(True, value), request, ToolDef("t", "", nothing, None, metadata)))


@given(text=TEXTS, size=st.integers(1, 300), ratio=st.floats(0, 1), least=st.integers(2, 5))
def test_no_compressor_lengthens(text: str, size: int, ratio: float, least: int) -> None:
    cut = truncate_compressor(max_chars=size, keep_head_ratio=ratio)
    count = dedup_compressor(min_run=least)
    for each in (cut, count, compose_compressors(count, cut), compose_compressors(cut, count)):
        found = outcome(each, text)
        assert found.value == text or len(found.value) < len(text)
        assert outcome(each, text) == found
    assert text.startswith(outcome(cut, text).value[: int(size * ratio)])


@pytest.mark.parametrize("value", [None, {"k": "v" * 999}, 7, b"x" * 999])
def test_values_other_than_text_stay(value: object) -> None:
    for each in (truncate_compressor(max_chars=1), dedup_compressor(), external_filter_compressor(["true"])):
        assert outcome(each, value).value is value


def test_the_text_by_name() -> None:
    assert outcome(truncate_compressor(max_chars=10), "a" * 50 + "b" * 50).value == (
        "aaaaaa\n…[90 characters left out]…\nbbbb"
    )
    assert outcome(dedup_compressor(), "same\n" * 9 + "end").value == "same  (x9)\nend"
    routed = route_compressor({None: truncate_compressor(max_chars=1), "raw": identity_compressor()})
    assert outcome(routed, "a" * 99, "raw").value == "a" * 99
    assert len(outcome(routed, "a" * 99, "other").value) < 99
    assert outcome(route_compressor({"logs": dedup_compressor()}), "a\n" * 9).value == "a\n" * 9


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: truncate_compressor(max_chars=0), lambda: truncate_compressor(keep_head_ratio=1.5),
        lambda: dedup_compressor(min_run=1), lambda: external_filter_compressor([]),
        lambda: external_filter_compressor(["cat"], timeout_seconds=0),
    ],
)  # fmt: skip
def test_wrong_arguments(wrong: Any) -> None:
    with pytest.raises(ValueError, match="must be"):
        wrong()


@pytest.mark.parametrize("code", ["import sys; sys.exit(3)", "print('x' * 999)", "import time; time.sleep(60)"])
def test_a_filter_that_fails_leaves_the_text(code: str) -> None:
    assert outcome(external_filter_compressor([sys.executable, "-c", code], timeout_seconds=1), "text").value == "text"


def test_a_filter_that_takes_too_long_ends_with_all_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 61 & echo $! > {pids}; echo $$ >> {pids}; wait"
    assert outcome(external_filter_compressor(["sh", "-c", script], timeout_seconds=1), "text").value == "text"
    child, program = map(int, pids.read_text().split())
    with pytest.raises(ProcessLookupError):  # reaped
        os.kill(program, 0)
    deadline = time.monotonic() + 30  # a killed process ends when it is next scheduled
    while is_running(child):
        assert time.monotonic() < deadline


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_large_text_passes_a_filter_that_reads_some() -> None:
    assert outcome(external_filter_compressor(["head", "-c", "5"]), "abcde" * 400_000).value == "abcde"
    assert outcome(external_filter_compressor(["tr", "-d", "b"]), "ab" * 400_000).value == "a" * 400_000


@tool(compress="logs")
async def noisy() -> str:
    """Return many lines."""
    return "LOG\n" * 50


class Two:
    """Calls the tool once, and keeps what it sees."""

    def __init__(self) -> None:
        self.seen: list[tuple[Message, ...]] = []

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        self.seen.append(tuple(conversation))
        return ToolCall("noisy", {}, "c1") if len(conversation) == 1 else FinalAnswer(conversation[-1].content)


def play(compressor: Compressor | None, store: MemoryStore, run_id: str) -> tuple[Two, Any, list[AuditEvent]]:
    agent, events = Two(), []

    async def sink(event: AuditEvent) -> None:
        events.append(event)

    result = asyncio.run(
        run_agent(
            agent, "go", tools=ToolSet.from_functions(noisy), policy=ALLOW, sinks=[sink], store=store, run_id=run_id,
            compressor=compressor,
        )
    )  # fmt: skip
    return agent, result, events


def results_of(store: MemoryStore, run_id: str) -> list[Any]:
    records = asyncio.run(store.load(run_id))
    return [record.body for record in records if record.kind == "action.result"]


def test_the_journal_keeps_the_whole_and_what_the_model_saw() -> None:
    store = MemoryStore()
    _, result, events = play(route_compressor({"logs": dedup_compressor()}), store, "r")
    shown = "[ok] LOG  (x50)\n"
    assert result.final_answer == shown
    (body,) = results_of(store, "r")
    assert (body["message"], body["whole"]) == (shown, "[ok] " + "LOG\n" * 50)
    (event,) = [event for event in events if event.kind == "step.compressed"]
    assert dict(event.body) == {
        "seq": 0, "tool": "noisy", "before_chars": 200, "after_chars": 11, "est_tokens_saved": 47,
    }  # fmt: skip
    again, second, _ = play(None, store, "r")
    assert second.final_answer == shown
    assert again.seen == []


def test_a_failure_shows_the_whole_and_is_announced() -> None:
    async def broken(result: ActionResult, request: ActionRequest, tool: ToolDef) -> ActionResult:
        raise RuntimeError("no")

    _, result, events = play(broken, MemoryStore(), "r")
    assert result.final_answer == "[ok] " + "LOG\n" * 50
    assert [dict(event.body) for event in events if event.kind == "step.compress_failed"] == [
        {"seq": 0, "tool": "noisy", "error": "RuntimeError: no"}
    ]


def test_a_run_without_a_shorter_text_has_the_journal_of_a_run_without_compressor() -> None:
    store = MemoryStore()
    play(None, store, "a")
    play(identity_compressor(), store, "b")
    one, two = (results_of(store, name)[0] for name in "ab")
    assert {**one, "duration_ms": 0, "chain": ""} == {**two, "duration_ms": 0, "chain": ""}
    assert "whole" not in one


def test_a_wrong_compressor_is_refused_before_the_run() -> None:
    with pytest.raises(TypeError, match="compressor must be the result of dedup_compressor"):
        play(dedup_compressor, MemoryStore(), "r")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="compress must be a string"):
        tool(compress=3)  # type: ignore[call-overload]
