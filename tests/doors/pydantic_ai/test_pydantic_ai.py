"""The door of PydanticAI: toolsets of a run, other capabilities, types of arguments, bare approvals, native tools."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry
from pydantic_ai.capabilities import AbstractCapability, NativeTool
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import RetryPromptPart, ToolReturnPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.toolsets import FunctionToolset

from bobcat import Guard, Policy
from bobcat.decision_log import open_log
from bobcat.guards.pydantic_ai import GuardedTools
from doors.adapter import Proposal
from doors.cases import policy_text
from doors.pydantic_ai.door import model
from doors.tools import Tools

POLICY = Policy.compile(
    policy_text("")
    + "  - {id: book, match: {tool: book}, decision: transform, transform: {jsonpath: $.args.day, set: '2026-02-02'}}\n"
    + "  - {id: seat, match: {tool: seat, args.place.row.le: 9}, decision: allow}\n"
    + "  - {id: again, match: {tool: again}, decision: allow}\n"
)


class Place(BaseModel):
    row: int
    letter: str = "A"


PAY = Proposal("c1", "pay", {"amount": 40})
ECHO = Proposal("c2", "echo", {"text": "a"})
SECRET = Proposal("c3", "echo", {"text": "secret"})


def texts(result: Any) -> list[str]:
    parts = [part for message in result.all_messages() for part in message.parts]
    return [
        part.model_response_str() if isinstance(part, ToolReturnPart) else part.model_response()
        for part in parts
        if isinstance(part, ToolReturnPart | RetryPromptPart)
    ]


def agent(door: GuardedTools, turns: Any, tools: Any = (), **options: Any) -> Agent[None, Any]:
    options.setdefault("capabilities", [door])
    return Agent(model(turns), tools=list(tools), output_type=[str, DeferredToolRequests], **options)


def ran(turns: Any, tools: Any, **options: Any) -> Any:
    """Run an agent with the guard, and return its result."""

    async def main() -> Any:
        async with Guard(POLICY) as guard:
            return await agent(GuardedTools(guard), turns, tools, **options).run("go")

    return asyncio.run(main())


def test_a_toolset_of_a_single_run_is_guarded() -> None:
    tools = Tools()

    async def main() -> Any:
        async with Guard(POLICY) as guard:
            toolset: Any = FunctionToolset(tools.functions(is_async=True))
            return await agent(GuardedTools(guard), [[ECHO, SECRET]]).run("go", toolsets=[toolset])

    assert [text for text in texts(asyncio.run(main())) if "not permitted" in text]
    assert tools.ran == [("echo", {"text": "a"})]


@pytest.mark.parametrize("first", [True, False])
def test_arguments_that_another_capability_changes_are_decided(first: bool) -> None:
    class Changing(AbstractCapability[None]):
        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
            return {"text": "secret"}

    tools = Tools()

    async def main() -> Any:
        async with Guard(POLICY) as guard:
            capabilities: list[Any] = [GuardedTools(guard), Changing()][:: 1 if first else -1]
            listed = tools.functions(is_async=True)
            return await agent(GuardedTools(guard), [[ECHO]], listed, capabilities=capabilities).run("go")

    assert "not permitted" in texts(asyncio.run(main()))[0]
    assert tools.ran == []


def test_arguments_keep_the_types_of_the_tool() -> None:
    found: list[Any] = []

    def book(day: date) -> str:
        found.append(day)
        return day.isoformat()

    def seat(place: Place) -> str:
        found.append(place)
        return place.letter

    calls = [
        Proposal("c1", "book", {"day": "2026-01-01"}),
        Proposal("c2", "seat", {"place": {"row": 3}}),
        Proposal("c3", "seat", {"place": {"row": 30}}),
    ]
    result = ran([calls], [book, seat])
    assert sorted(found, key=str) == [date(2026, 2, 2), Place(row=3)]
    assert texts(result)[:2] == ["2026-02-02", "A"]


def test_a_retry_that_a_tool_wants_reaches_the_model() -> None:
    def again() -> str:
        raise ModelRetry("try something else")

    assert "try something else" in texts(ran([[Proposal("c", "again", {})]], [again]))[0]


def test_a_native_tool_is_refused() -> None:
    async def main() -> None:
        async with Guard(POLICY) as guard:
            capabilities = [GuardedTools(guard), NativeTool(WebSearchTool())]
            await Agent(TestModel(), capabilities=capabilities).run("go")

    with pytest.raises(UserError, match="'web_search' cannot be guarded"):
        asyncio.run(main())


def test_a_guard_is_required() -> None:
    with pytest.raises(TypeError, match="guard must be a Guard"):
        GuardedTools(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("approver", "metadata", "text"),
    [
        ("", {}, "[denied]"),
        ("alice", {}, "paid 40"),
        ("mallory", {}, "[denied]"),
        ("", {"c1": {"approver": "alice"}}, "paid 40"),
        ("alice", {"c1": {"approver": "mallory"}}, "[denied]"),
        ("alice", {"c1": {"answer": {"granted": False, "approver": "alice"}}}, "[denied]"),
    ],
)
def test_a_bare_approval_counts_for_an_approver_that_is_named(
    approver: str, metadata: dict[str, Any], text: str, tmp_path: Path
) -> None:
    tools = Tools()

    async def main() -> Any:
        async with Guard(POLICY, log=tmp_path / "log.db") as guard:
            payer = agent(GuardedTools(guard, approver=approver), [[PAY]], tools.functions(is_async=True))
            result = await payer.run("go")
            assert result.output.metadata["c1"]["reason"] == "money"
            answers = DeferredToolResults(approvals={"c1": True}, metadata=metadata)
            return await payer.run(message_history=result.all_messages(), deferred_tool_results=answers)

    assert text in texts(asyncio.run(main()))[-1]
    assert len(tools.ran) == (text == "paid 40")
    with open_log(tmp_path / "log.db") as log:
        assert len(log.records()) == 1


def test_an_answer_is_needed_for_each_call() -> None:
    async def main() -> None:
        async with Guard(POLICY) as guard:
            door = GuardedTools(guard)
            result = await agent(door, [[PAY]], Tools().functions(is_async=True)).run("go")
            await door.answer(result.output, {})

    with pytest.raises(LookupError, match="'c1' of 'pay'"):
        asyncio.run(main())


def test_without_interrupts_the_guards_handler_answers() -> None:
    tools = Tools()

    async def main() -> Any:
        async with Guard(POLICY) as guard:
            door = GuardedTools(guard, interrupts=False)
            return await agent(door, [[PAY]], tools.functions(is_async=True)).run("go")

    assert "[denied]" in texts(asyncio.run(main()))[0]
    assert tools.ran == []


def test_a_streamed_run_is_guarded() -> None:
    tools = Tools()

    async def main() -> Any:
        async with Guard(POLICY) as guard:
            made = agent(GuardedTools(guard), [[ECHO, SECRET]], tools.functions(is_async=True))
            async with made.iter("go") as running:
                async for _ in running:
                    pass
            return running.result

    assert [text for text in texts(asyncio.run(main())) if "not permitted" in text]
    assert tools.ran == [("echo", {"text": "a"})]
