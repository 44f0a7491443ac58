"""`CrewAIAgent` with real crews, whose models talk to a server that speaks the Chat Completions API.

CrewAI wants older releases of the other vendors' packages than the rest of the tests, so it is not among what is
installed for development: `test_other_sdks.py` runs this file in an environment of its own.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from adapters.governed import TOOLS, Run, governed_async
from adapters.vendor_server import Vendor, serving
from bobcat import Budget, MemoryStore
from bobcat.adapters.crewai_adapter import CrewAIAgent, crewai_tools

crewai = pytest.importorskip("crewai", reason="CrewAI has an environment of its own; see test_other_sdks.py")
pytestmark = pytest.mark.filterwarnings("default")


def _reply(content: str | None = None, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    made = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for n, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o",
        "choices": [{"index": 0, "finish_reason": "tool_calls" if made else "stop", "message": message}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }


def _crew(vendor: Vendor, tools: list[Any], **more: Any) -> Any:
    llm = crewai.LLM(model="openai/gpt-4o", base_url=vendor.url, api_key="test")
    writer = crewai.Agent(role="writer", goal="tidy", backstory="old", llm=llm, tools=tools, **more)
    task = crewai.Task(description="tidy the notes", expected_output="tidy notes", agent=writer)
    return crewai.Crew(agents=[writer], tasks=[task], verbose=False)


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No telemetry, and no key of the developer's."""
    for name in ("OTEL_SDK_DISABLED", "CREWAI_DISABLE_TELEMETRY", "CREWAI_DISABLE_TRACKING"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("CREWAI_TRACING_ENABLED", "false")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def _run(*replies: dict[str, Any], **more: Any) -> tuple[Run, Vendor]:
    async def run() -> Run:
        async with CrewAIAgent(_crew(vendor, crewai_tools(TOOLS))) as agent:
            return await asyncio.wait_for(governed_async(agent, **more), 60)

    with serving(*replies) as vendor:
        return asyncio.run(run()), vendor


# lynx-agent defect 82
def test_the_tools_of_a_crew_are_evaluated_by_the_policy() -> None:
    run, vendor = _run(
        _reply(None, ("read", {"path": "a.txt"})),
        _reply(None, ("notes_write", {"path": "/etc/passwd"})),
        _reply("All tidy."),
    )
    assert run.result.error is None
    assert run.result.final_answer == "All tidy."
    assert run.ran == [("read", "a.txt")]
    assert [body["args"] for body in run.bodies("step.proposed")] == [
        {"path": "a.txt", "lines": 10},
        {"path": "/etc/passwd", "text": None},
    ]
    said = json.dumps(vendor.requests[-1]["messages"])
    assert "[ok] 10 lines of a.txt" in said
    assert "[denied] stay here" in said
    assert run.result.usage is not None


# lynx-agent defect 82
def test_every_call_of_a_reply_is_evaluated() -> None:
    run, vendor = _run(
        _reply(None, ("read", {"path": "a"}), ("notes_write", {"path": "/root"}), ("read", {"path": "b"})),
        _reply("All tidy."),
    )
    assert run.result.final_answer == "All tidy."
    assert sorted(run.ran) == [("read", "a"), ("read", "b")]
    said = json.dumps(vendor.requests[-1]["messages"])
    assert all(text in said for text in ("lines of a", "lines of b", "[denied] stay here"))


def test_a_tool_may_be_awaited() -> None:
    [read, _] = crewai_tools(TOOLS)
    with pytest.raises(RuntimeError, match="no CrewAIAgent runs this crew; the tool was not run"):
        asyncio.run(read.arun(path="a"))


def test_a_resumed_crew_makes_no_recorded_call_twice() -> None:
    store = MemoryStore()
    first, _ = _run(
        _reply(None, ("read", {"path": "a.txt"})),
        {"error": {"message": "down"}, "status": 400},
        store=store,
        run_id="r",
    )
    assert first.result.error is not None
    assert first.ran == [("read", "a.txt")]
    second, _ = _run(_reply(None, ("read", {"path": "a.txt"})), _reply("All tidy."), store=store, run_id="r")
    assert second.result.final_answer == "All tidy."
    assert second.ran == []


def test_a_crew_whose_run_ended_gets_no_tool_any_more() -> None:
    run, _ = _run(
        _reply(None, ("read", {"path": "a"})),
        _reply(None, ("read", {"path": "b"})),
        _reply("gave up"),
        _reply("gave up"),
        budget=Budget(steps=1),
    )
    assert run.result.error == "step budget exhausted (1)"
    assert run.ran == [("read", "a")]


def test_tools_that_no_policy_sees_are_refused() -> None:
    @crewai.tools.tool("leak")
    def leak(text: str) -> str:
        """Leak a text."""
        return text

    with serving(_reply("fine")) as vendor:
        with pytest.raises(ValueError, match="no policy sees these tools of the crew: `leak`;"):
            CrewAIAgent(_crew(vendor, [leak, *crewai_tools(TOOLS)]))
        agent = CrewAIAgent(_crew(vendor, [leak]), allow_unmediated_tools=True)
        assert asyncio.run(governed_async(agent)).result.final_answer == "fine"


def test_what_the_crew_raises_fails_the_run() -> None:
    run, _ = _run({"error": {"message": "bad request"}, "status": 400}, {"error": {"message": "bad"}, "status": 400})
    assert run.result.error is not None
    assert run.result.error.startswith("agent.step raised: ")


def test_a_crews_tools_run_nothing_without_a_run() -> None:
    [read, _] = crewai_tools(TOOLS)
    with pytest.raises(RuntimeError, match="no CrewAIAgent runs this crew; the tool was not run"):
        read.run(path="a")


def test_the_result_is_given_again() -> None:
    async def main(agent: CrewAIAgent) -> list[Any]:
        return [await agent.step(()), await agent.step(())]

    with serving(_reply("fine")) as vendor:
        first, second = asyncio.run(main(CrewAIAgent(crew=_crew(vendor, []))))
    assert first == second
    assert first.text == "fine"
