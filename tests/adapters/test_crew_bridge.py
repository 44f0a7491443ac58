"""The bridge between a crew's threads and the run loop, tested without CrewAI."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from bobcat import FinalAnswer, Message, ToolCall
from bobcat.adapters.crew_bridge import ENDED, BridgeHandle, CrewBridge

TASK = Message("user", "go")


def _thread(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Do some work in a thread; its result or exception ends up in the list."""
    out: list[Any] = []

    def run() -> None:
        try:
            out.append(work())
        except Exception as error:
            out.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, out


def _answered(call: ToolCall, text: str) -> tuple[Message, Message]:
    asked = Message("assistant", "", call.tool, call.call_id, call.args)
    return asked, Message("tool", text, call.tool, call.call_id)


def test_a_call_waits_for_its_answer() -> None:
    bridge = CrewBridge()

    async def main() -> None:
        thread, out = _thread(lambda: bridge.call("read", {"path": "a"}))
        calls = await bridge.next((TASK,))
        assert calls == (ToolCall("read", {"path": "a"}, "crew_0"),)
        assert thread.is_alive()
        bridge.finish(FinalAnswer("done"))
        assert await bridge.next((TASK, *_answered(calls[0], "[ok] text"))) == FinalAnswer("done")
        await asyncio.to_thread(thread.join, 5)
        assert out == ["[ok] text"]

    asyncio.run(main())


def test_calls_of_several_threads_are_one_reply_and_each_gets_its_own_answer() -> None:
    bridge = CrewBridge()

    async def main() -> None:
        threads = [_thread(lambda n=n: bridge.call("read", {"path": n})) for n in range(3)]  # type: ignore[misc]
        seen: list[ToolCall] = []
        conversation: tuple[Message, ...] = (TASK,)
        while len(seen) < 3:
            calls = await bridge.next(conversation)
            assert isinstance(calls, tuple)
            seen += calls
            said = [_answered(call, f"answer {call.args['path']}") for call in calls]
            conversation += tuple(asked for asked, _ in said) + tuple(reported for _, reported in said)
        bridge.finish(FinalAnswer("done"))
        await bridge.next(conversation)
        for n, (thread, out) in enumerate(threads):
            await asyncio.to_thread(thread.join, 5)
            assert out == [f"answer {n}"]
        assert len({call.call_id for call in seen}) == 3

    asyncio.run(main())


def test_recorded_answers_are_given_once_each_and_new_calls_get_new_ids() -> None:
    bridge = CrewBridge()
    old = [ToolCall("read", {"path": "a"}, "crew_0"), ToolCall("read", {"path": "a"}, "crew_1")]
    said = [_answered(call, f"[ok] {n}") for n, call in enumerate(old)]
    bridge.remember((TASK, *said[0], *said[1]))
    assert [bridge.call("read", {"path": "a"}) for _ in old] == ["[ok] 0", "[ok] 1"]

    async def main() -> Any:
        _thread(lambda: bridge.call("read", {"path": "a"}))
        return await bridge.next((TASK,))

    assert asyncio.run(main()) == (ToolCall("read", {"path": "a"}, "crew_2"),)


def test_the_end_of_the_run_frees_every_thread_and_lets_no_call_through() -> None:
    bridge = CrewBridge()

    async def main() -> None:
        thread, out = _thread(lambda: bridge.call("read", {}))
        await bridge.next((TASK,))
        bridge.close()
        await asyncio.to_thread(thread.join, 5)
        assert [str(error) for error in out] == [ENDED]
        with pytest.raises(RuntimeError, match=ENDED):
            bridge.call("read", {})
        with pytest.raises(RuntimeError, match="the agent was closed while its crew was running"):
            await bridge.next((TASK,))

    asyncio.run(main())


def test_a_cancelled_step_closes_the_exchange() -> None:
    bridge = CrewBridge()

    async def main() -> None:
        step = asyncio.create_task(bridge.next((TASK,)))
        await asyncio.sleep(0)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step

    asyncio.run(main())
    with pytest.raises(RuntimeError, match=ENDED):
        bridge.call("read", {})


@pytest.mark.parametrize(
    ("end", "raised", "text"),
    [(ValueError("bad crew"), ValueError, "bad crew"), (SystemExit(1), RuntimeError, "the crew ended with SystemExit")],
)
def test_a_crew_that_fails_fails_the_step(end: BaseException, raised: type[Exception], text: str) -> None:
    bridge = CrewBridge()
    bridge.finish(end)
    with pytest.raises(raised, match=text):
        asyncio.run(bridge.next((TASK,)))


def test_the_result_is_given_again_also_after_closing() -> None:
    bridge = CrewBridge()
    bridge.finish(FinalAnswer("done"))
    bridge.close()
    assert asyncio.run(bridge.next((TASK,))) == FinalAnswer("done")


def test_a_run_that_is_gone_needs_no_waking() -> None:
    bridge = CrewBridge()

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(bridge.next((TASK,)), 0.01)

    asyncio.run(main())
    bridge.finish(FinalAnswer("too late"))


def test_a_tool_without_a_run_is_not_run() -> None:
    with pytest.raises(RuntimeError, match="no CrewAIAgent runs this crew; the tool was not run"):
        BridgeHandle().call("read", {})
