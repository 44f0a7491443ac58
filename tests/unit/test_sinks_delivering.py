"""Sinks: what they write, and what becomes of one that fails, hangs or is no coroutine."""

from __future__ import annotations

import asyncio
import contextvars
import io
import json
import math
import os
import threading
import time
from collections.abc import Awaitable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import AuditEvent, AuditGap, Sink, callback_sink, jsonl_sink, multi_sink, noop_sink, stdout_sink
from bobcat.sinks.fanout import Fanout
from bobcat.text.json_text import json_text

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def event(seq: int = 0, **body: Any) -> AuditEvent:
    return AuditEvent("correlation", "bundle", seq, "step.proposed", NOW, body)


async def _send(sink: Sink, *events: AuditEvent) -> None:
    for one in events:
        await sink(one)


def send(sink: Sink, *events: AuditEvent) -> None:
    asyncio.run(_send(sink, *events))


def test_stdout_lines_are_those_of_the_contract() -> None:
    stream = io.StringIO()
    send(stdout_sink(stream=stream), event(7, b=1, a="x" * 200))
    assert stream.getvalue() == (
        "[2026-01-31T12:00:00+00:00] #  7 step.proposed          corr=correlat body="
        + ('{"a":"' + "x" * 200)[:120]
        + "\n"
    )


def test_stdout_sink_writes_to_the_standard_output_of_its_making(capsys: pytest.CaptureFixture[str]) -> None:
    send(stdout_sink(), event())
    assert "#  0 step.proposed" in capsys.readouterr().out


def test_jsonl_lines_are_canonical_json() -> None:
    stream = io.StringIO()
    send(jsonl_sink(stream), event(1, z=1, a="ü"))
    assert stream.getvalue() == (
        '{"body":{"a":"\\u00fc","z":1},"bundle_id":"bundle","correlation_id":"correlation","kind":"step.proposed",'
        '"seq":1,"timestamp":"2026-01-31T12:00:00+00:00"}\n'
    )


def test_a_handle_that_cannot_be_flushed_will_do() -> None:
    class Handle:
        def __init__(self) -> None:
            self.text = ""

        def write(self, text: str) -> None:
            self.text += text

    handle = Handle()
    send(jsonl_sink(handle), event())  # type: ignore[arg-type]
    assert handle.text.endswith("\n")


class Odd:
    def __repr__(self) -> str:
        raise ValueError("no")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(Odd),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.none(), inner) | st.tuples(inner),
    max_leaves=10,
)


@given(ANYTHING)
def test_every_value_has_a_json_text(value: object) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    json.loads(json_text(value), parse_constant=refuse)


def test_what_json_lacks_is_shown() -> None:
    loop: list[Any] = []
    loop.append(loop)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert json_text([math.nan, math.inf, -math.inf]) == '["NaN","Infinity","-Infinity"]'
    assert json_text({"b", "a"}) == '["a","b"]'
    assert json_text(loop) == '["<cycle>"]'
    assert '"<too deep>"' in json_text(deep)
    assert json_text({1: "a", "b": 2}) == '{"1":"a","b":2}'
    assert json_text(Odd()) == '"<Odd that cannot be shown: ValueError>"'
    assert json_text(10**5000).startswith('"0x')
    assert json_text(event()).startswith('{"body":{}')


def test_noop_and_callback_do_what_they_say() -> None:
    seen: list[int] = []

    async def later(one: AuditEvent) -> None:
        seen.append(one.seq)

    def now(one: AuditEvent) -> None:
        seen.append(one.seq + 10)

    send(noop_sink(), event())
    send(callback_sink(later), event(1))
    send(callback_sink(now), event(2))
    assert seen == [1, 12]


def test_one_failing_sink_does_not_disturb_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[int] = []

    async def fails(_: AuditEvent) -> None:
        raise OSError("disk full")

    def plain(one: AuditEvent) -> Awaitable[None] | None:
        seen.append(one.seq)
        return None

    send(multi_sink(fails, plain, fails), event(3))  # type: ignore[arg-type]
    assert seen == [3]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].endswith("fails failed on event 'step.proposed' seq=3: OSError: disk full")


def test_a_hanging_sink_is_left_out_after_one_bounded_wait(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[int] = []

    async def hangs(one: AuditEvent) -> None:
        calls.append(one.seq)
        await asyncio.sleep(60)

    async def main() -> float:
        fanout = Fanout([hangs, noop_sink()], timeout_seconds=0.1)
        started = time.monotonic()
        for seq in range(5):
            await fanout.deliver(event(seq))
        return time.monotonic() - started

    assert asyncio.run(main()) < 2
    assert calls == [0]
    assert "no answer within 0.1s; it gets no further events" in capsys.readouterr().err


def test_a_sink_that_times_out_by_itself_is_a_failing_sink(capsys: pytest.CaptureFixture[str]) -> None:
    async def times_out(_: AuditEvent) -> None:
        raise TimeoutError("collector")

    async def main() -> None:
        fanout = Fanout([times_out])
        await fanout.deliver(event(0))
        await fanout.deliver(event(1))

    asyncio.run(main())
    assert capsys.readouterr().err.count("TimeoutError: collector") == 2


def test_cancelling_the_sender_goes_through_a_sink() -> None:
    async def hangs(_: AuditEvent) -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(Fanout([hangs]).deliver(event()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_blocking_function_does_not_block_the_loop(capsys: pytest.CaptureFixture[str]) -> None:
    released = threading.Event()

    def blocks(_: AuditEvent) -> None:
        released.wait(30)

    async def main() -> tuple[float, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        other = asyncio.create_task(tick())
        started = time.monotonic()
        fanout = Fanout([blocks, callback_sink(blocks)], timeout_seconds=0.2)  # type: ignore[list-item]
        for seq in range(5):
            await fanout.deliver(event(seq))
        took = time.monotonic() - started
        other.cancel()
        return took, ticks

    took, ticks = asyncio.run(main())
    released.set()
    assert took < 5
    assert ticks > 3
    assert capsys.readouterr().err.count("no answer within 0.2s; it gets no further events") == 2


def test_an_unread_stream_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    with open(writing, "w", encoding="utf-8") as stream, open(reading, "rb"):

        async def main() -> None:
            fanout = Fanout([jsonl_sink(stream)], timeout_seconds=0.2)
            for seq in range(3):
                await fanout.deliver(event(seq, text="x" * 100_000))

        asyncio.run(main())
        os.set_blocking(writing, False)
        os.read(reading, 1 << 20)  # let the stuck write end, so that the stream can be closed
        time.sleep(0.05)
        os.read(reading, 1 << 20)
    assert capsys.readouterr().err.count("no answer within 0.2s") == 1


def test_a_sink_that_is_slow_every_time_loses_nothing_and_holds_up_little(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[int] = []
    waiting: list[int] = []

    async def slow(one: AuditEvent) -> None:
        await asyncio.sleep(0.05)
        calls.append(one.seq)

    async def main() -> None:
        fanout = Fanout([slow], total_seconds=0.12)
        for seq in range(20):
            await fanout.deliver(event(seq))
            waiting.append(seq + 1 - len(calls))
        await fanout.drain()
        assert fanout.gaps == ()

    asyncio.run(main())
    assert calls == list(range(20))
    assert waiting[0] == 0
    assert waiting[-1] > 10
    assert capsys.readouterr().err == ""


def test_a_full_queue_makes_the_sender_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bobcat.sinks.fanout.SINK_QUEUE_EVENTS", 3)
    calls: list[int] = []

    async def slow(one: AuditEvent) -> None:
        await asyncio.sleep(0)
        calls.append(one.seq)

    async def main() -> None:
        fanout = Fanout([slow], total_seconds=0)
        for seq in range(50):
            await fanout.deliver(event(seq))
            assert seq + 1 - len(calls) <= 3
        await fanout.drain()

    asyncio.run(main())
    assert calls == list(range(50))


def test_a_required_sink_has_every_event_before_the_run_goes_on() -> None:
    calls: list[int] = []

    async def slow(one: AuditEvent) -> None:
        await asyncio.sleep(0)
        calls.append(one.seq)

    async def main() -> None:
        fanout = Fanout([callback_sink(slow, required=True)], total_seconds=0)
        for seq in range(5):
            await fanout.deliver(event(seq))
            assert calls[-1] == seq
        assert fanout.failure is None

    asyncio.run(main())


def test_a_sink_that_hangs_behind_a_queue_is_left_out_and_what_it_lost_is_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def hangs_later(one: AuditEvent) -> None:
        if one.seq >= 3:
            await asyncio.sleep(60)

    async def main() -> list[AuditGap]:
        fanout = Fanout([hangs_later, noop_sink()], timeout_seconds=0.1, total_seconds=0)
        for seq in range(10):
            await fanout.deliver(event(seq))
        await fanout.drain()
        await fanout.deliver(event(10))
        (left,) = fanout.newly_left_out()
        assert fanout.newly_left_out() == []
        assert fanout.gaps == (left,)
        return [left]

    (gap,) = asyncio.run(main())
    assert (gap.events, gap.first_seq) == (8, 3)
    assert gap.reason == "no answer within 0.1s; it gets no further events"
    assert gap.reason in capsys.readouterr().err


def test_what_waits_when_the_sender_is_cancelled_is_lost_and_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    async def slow(one: AuditEvent) -> None:
        await asyncio.sleep(60 if one.seq else 0)

    async def main() -> Fanout:
        fanout = Fanout([slow], total_seconds=0)
        for seq in range(4):
            await fanout.deliver(event(seq))
        draining = asyncio.create_task(fanout.drain())
        await asyncio.sleep(0)
        draining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await draining
        return fanout

    (gap,) = asyncio.run(main()).gaps
    assert (gap.events, gap.first_seq) == (3, 1)
    assert "the run was ended from outside" in capsys.readouterr().err


def test_an_async_sink_that_blocks_the_loop_does_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[int] = []

    async def blocks(one: AuditEvent) -> None:
        calls.append(one.seq)
        time.sleep(0.15)  # noqa: ASYNC251 - the mistake that is meant

    async def main() -> None:
        fanout = Fanout([blocks], timeout_seconds=0.1)
        for seq in range(5):
            await fanout.deliver(event(seq))

    asyncio.run(main())
    assert calls == [0]
    assert "no answer within 0.1s; it gets no further events" in capsys.readouterr().err


def test_the_sinks_of_a_multi_sink_have_their_own_time() -> None:
    seen: list[int] = []

    async def hangs(_: AuditEvent) -> None:
        await asyncio.sleep(60)

    async def keeps(one: AuditEvent) -> None:
        seen.append(one.seq)

    async def main() -> None:
        fanout = Fanout([multi_sink(hangs, multi_sink(keeps))], timeout_seconds=0.05)
        for seq in range(4):
            await fanout.deliver(event(seq))

    asyncio.run(main())
    assert seen == [0, 1, 2, 3]


def test_only_a_required_sink_leaves_a_failure() -> None:
    def fails(_: AuditEvent) -> None:
        raise OSError("disk full")

    async def main(required: bool) -> str | None:
        fanout = Fanout([callback_sink(fails, required=required), noop_sink()])
        await fanout.deliver(event(0))
        await fanout.deliver(event(1))
        return fanout.failure

    assert asyncio.run(main(False)) is None
    failure = asyncio.run(main(True))
    assert failure is not None
    assert failure.endswith("failed on event 'step.proposed' seq=0: OSError: disk full")


def test_a_required_stream_that_is_closed_is_a_failure(tmp_path: Path) -> None:
    with (tmp_path / "audit.jsonl").open("w") as stream:
        sinks = [jsonl_sink(stream, required=True), stdout_sink(stream=stream, required=True)]

    async def main(sink: Sink) -> str | None:
        fanout = Fanout([sink])
        await fanout.deliver(event())
        return fanout.failure

    for sink in sinks:
        failure = asyncio.run(main(sink))
        assert failure is not None
        assert "ValueError" in failure


def test_a_function_on_a_thread_sees_the_context_of_the_run() -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name")
    seen: list[str] = []

    async def main() -> None:
        name.set("run")
        await Fanout([callback_sink(lambda _: seen.append(name.get()))]).deliver(event())

    asyncio.run(main())
    assert seen == ["run"]


def test_a_thread_that_was_idle_starts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bobcat.sinks.thread.IDLE_SECONDS", 0.01)
    threads: list[str] = []

    async def main() -> None:
        sink = callback_sink(lambda _: threads.append(threading.current_thread().name))
        for seq in range(3):
            await sink(event(seq))
            await asyncio.sleep(0.05)

    asyncio.run(main())
    assert threads == ["bobcat-sink"] * 3


def test_what_a_function_on_a_thread_raises_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(one: AuditEvent) -> None:
        raise (StopIteration("s") if one.seq else SystemExit(3))

    async def main() -> None:
        fanout = Fanout([fails])  # type: ignore[list-item]
        await fanout.deliver(event(0))
        await fanout.deliver(event(1))

    asyncio.run(main())
    errors = capsys.readouterr().err
    assert "SystemExit: 3" in errors
    assert "StopIteration: s" in errors
