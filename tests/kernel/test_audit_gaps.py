"""Events that a sink did not get: in the result, in the journal, and reported to the other sinks."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from bobcat import AuditEvent, MemoryStore, RunResult
from bobcat.runtime.compat import DEFAULTS
from bobcat.runtime.loop import run_agent
from kernel.scripted import Seen, call, seen


async def hangs(event: AuditEvent) -> None:
    if event.kind == "policy.evaluated":
        await asyncio.sleep(60)


def _quick(**options: Any) -> Seen:
    """A run whose sinks have a tenth of a second for an event."""
    compat = msgspec.structs.replace(DEFAULTS, sink_timeout_seconds=0.1)
    return seen(call("echo", text="a"), call("echo", text="b"), compat=compat, **options)


def test_a_sink_that_is_left_out_is_an_event_a_record_and_part_of_the_result() -> None:
    store = MemoryStore()
    run = _quick(sinks=[hangs], store=store, run_id="r")
    (gap,) = run.result.audit_gaps
    assert (gap.sink, gap.first_seq) == ("hangs", 2)
    assert gap.events == len(run.events) - 2
    body = {"sink": "hangs", "first_seq": 2, "reason": "no answer within 0.1s; it gets no further events"}
    assert run.bodies("audit.gap") == [body]
    (record,) = (record for record in asyncio.run(store.load("r")) if record.kind == "audit.gap")
    assert {name: value for name, value in record.body.items() if name != "chain"} == body
    assert run.result.status == "succeeded"


def test_a_run_with_a_gap_on_record_is_resumed() -> None:
    store = MemoryStore()
    _quick(sinks=[hangs], store=store, run_id="r")
    assert seen(store=store, run_id="r").result.final_answer == "done"


def test_a_sink_that_fails_at_one_event_has_lost_that_event(capsys: pytest.CaptureFixture[str]) -> None:
    async def fails_once(event: AuditEvent) -> None:
        if event.kind == "action.started":
            raise OSError("disk full")

    run = seen(call("echo", text="a"), sinks=[fails_once])
    (gap,) = run.result.audit_gaps
    assert (gap.events, gap.first_seq, gap.reason) == (1, 3, "OSError: disk full")
    assert "audit.gap" not in run.kinds


def test_a_run_whose_sinks_are_slow_but_healthy_has_no_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bobcat.sinks.fanout.SINK_TOTAL_SECONDS", 0.0)
    kinds: list[str] = []

    async def slow(event: AuditEvent) -> None:
        await asyncio.sleep(0.002)
        kinds.append(event.kind)

    run = seen(*(call("echo", text=str(number)) for number in range(20)), sinks=[slow])
    assert run.result.audit_gaps == ()
    assert kinds == run.kinds


def test_the_representation_of_a_result_shows_its_status() -> None:
    assert repr(RunResult("c", "b", final_answer="done")).startswith(
        "RunResult(status='succeeded', final_answer='done'"
    )
    assert "status='cancelled'" in repr(RunResult("c", "b", error="cancelled: stop", outcome="cancelled"))
    assert "status='failed'" in repr(RunResult("c", "b", error="no"))
    assert "status='suspended'" in repr(RunResult("c", "b", error="suspended", approvals=("a",)))


def test_a_result_of_a_run_whose_caller_is_cancelled_leaves_no_task_behind() -> None:
    async def slow(_: AuditEvent) -> None:
        await asyncio.sleep(0.001)

    async def main() -> int:
        from bobcat import ToolSet, compile_policy
        from kernel.scripted import Scripted

        async def hang(_: object) -> object:
            await asyncio.sleep(60)
            return None

        agent = Scripted(hang)
        running = asyncio.create_task(
            run_agent(agent, "t", tools=ToolSet(), policy=compile_policy("rules: []"), sinks=[slow])
        )
        await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1
