"""The door of the OpenAI Agents SDK: tools of MCP servers, handoffs, bare approvals, saved states, refused tools."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent, HostedMCPTool, Runner, RunState, WebSearchTool, function_tool, handoff
from agents.exceptions import UserError
from agents.mcp import MCPServerStdio
from agents.testing import ScriptedModel

from bobcat import Guard, Policy
from bobcat.decision_log import open_log
from bobcat.guards.openai_agents import GuardedAgent, answer_approval
from doors.adapter import Proposal
from doors.cases import policy_text
from doors.openai_agents.door import DONE, model, proposed
from doors.tools import Tools

POLICY = Policy.compile(
    policy_text("")
    + "  - {id: shout, match: {tool: shout, args.text.not_in: [secret]}, decision: allow}\n"
    + "  - {id: stop, match: {tool: shout, args.text: secret}, decision: deny, reason: not permitted, priority: 9}\n"
)
PAY = Proposal("c1", "pay", {"amount": 40})
ECHO = Proposal("c2", "echo", {"text": "a"})


def agent(guard: Guard, made: Tools, *turns: list[Proposal], **options: Any) -> GuardedAgent:
    listed = [function_tool(each) for each in made.functions(is_async=False)]
    return GuardedAgent(**{"name": "a", "model": model(turns), "tools": listed, "guard": guard, **options})


def outputs(result: Any) -> list[str]:
    return [str(item["output"]) for item in result.to_input_list() if item.get("type") == "function_call_output"]


def test_tools_of_mcp_servers_are_guarded(tmp_path: Path) -> None:
    noted = tmp_path / "calls"
    script = str(Path(__file__).with_name("mcp_server.py"))

    async def main() -> Any:
        params: Any = {"command": sys.executable, "args": [script, str(noted)]}
        async with Guard(POLICY, log=tmp_path / "log.db") as guard, MCPServerStdio(params) as server:
            calls = [Proposal("c1", "shout", {"text": "a"}), Proposal("c2", "shout", {"text": "secret"})]
            return await Runner.run(agent(guard, Tools(), calls, mcp_servers=[server]), "go")

    found = outputs(asyncio.run(main()))
    assert "A" in found[0]
    assert found[1] == "[denied] not permitted"
    assert noted.read_text(encoding="utf-8") == "a\n"
    with open_log(tmp_path / "log.db") as log:
        assert sorted(each.status for each in log.records()) == ["denied", "ok"]


@pytest.mark.parametrize(
    "tool",
    [WebSearchTool(), HostedMCPTool(tool_config={"type": "mcp", "server_label": "s", "server_url": "https://x"})],
    ids=["web search", "hosted MCP"],
)
def test_a_tool_that_does_not_pass_the_door_is_refused(tool: Any) -> None:
    with Guard(POLICY) as guard, pytest.raises(UserError, match="cannot be guarded"):
        GuardedAgent(name="a", tools=[tool], guard=guard)


def test_a_tool_that_is_added_later_is_guarded_or_refused() -> None:
    tools = Tools()

    async def main(added: Any) -> Any:
        async with Guard(POLICY) as guard:
            late = agent(guard, Tools(), [Proposal("c", "echo", {"text": "secret"})], tools=[])
            late.tools = [*late.tools, added]
            return await Runner.run(late, "go")

    assert outputs(asyncio.run(main(function_tool(tools.functions(is_async=False)[0])))) == ["[denied] not permitted"]
    assert tools.ran == []
    with pytest.raises(UserError, match="cannot be guarded"):
        asyncio.run(main(WebSearchTool()))


def test_an_agent_without_a_guard_is_refused() -> None:
    with pytest.raises(TypeError, match="guard must be a Guard"):
        GuardedAgent(name="a")
    other = Agent(name="other")
    with Guard(POLICY) as guard:
        with pytest.raises(UserError, match="other"):
            GuardedAgent(name="a", guard=guard, handoffs=[other])
        with pytest.raises(UserError, match="without a guard"):
            GuardedAgent(name="a", guard=guard, tools=[other.as_tool("ask", "Ask")])


def test_an_agent_that_is_handed_over_to_is_guarded() -> None:
    tools = Tools()

    async def main(wrap: Any, kind: Any) -> Any:
        async with Guard(POLICY) as guard:
            second = kind(guard, name="second", model=model([[ECHO, Proposal("c3", "echo", {"text": "secret"})]]))
            first = agent(guard, Tools(), [Proposal("c1", "transfer_to_second", {})], handoffs=[wrap(second)])
            return await Runner.run(first, "go")

    def guarded(guard: Guard, **options: Any) -> Any:
        return agent(guard, tools, **options)

    for wrap in (handoff, lambda each: each):
        assert outputs(asyncio.run(main(wrap, guarded)))[1:] == ["a", "[denied] not permitted"]
    assert tools.ran == [("echo", {"text": "a"})] * 2
    with pytest.raises(UserError, match="has no guard"):
        asyncio.run(main(handoff, lambda guard, **options: Agent(**options)))


def test_an_agent_as_a_tool_is_guarded_inside() -> None:
    tools = Tools()
    policy = Policy.compile(policy_text("") + "  - {id: ask, match: {tool: ask}, decision: allow}\n")

    async def main() -> Any:
        async with Guard(policy) as guard:
            inner = agent(guard, tools, [ECHO, Proposal("c3", "echo", {"text": "secret"})], name="inner")
            outer = agent(guard, Tools(), [Proposal("c1", "ask", {"input": "x"})], tools=[inner.as_tool("ask", "Ask")])
            return await Runner.run(outer, "go")

    assert outputs(asyncio.run(main())) == ["done"]
    assert tools.ran == [("echo", {"text": "a"})]


@pytest.mark.parametrize(("approver", "always", "ran"), [("", False, 0), ("alice", False, 1), ("mallory", True, 0)])
def test_a_bare_approval_counts_for_the_approver_of_the_agent(approver: str, always: bool, ran: int) -> None:
    tools = Tools()

    async def main() -> Any:
        async with Guard(POLICY) as guard:
            payer = agent(guard, tools, [PAY], approver=approver)
            result = await Runner.run(payer, "go")
            state = result.to_state()
            state.approve(result.interruptions[0], always_approve=always)
            return await Runner.run(payer, state)

    (text,) = outputs(asyncio.run(main()))
    assert text.startswith("paid" if ran else "[denied]")
    assert len(tools.ran) == ran


@pytest.mark.parametrize("granted", [True, False])
def test_a_saved_state_is_answered_in_another_process(granted: bool, tmp_path: Path) -> None:
    tools = Tools()

    async def first() -> str:
        async with Guard(POLICY, log=tmp_path / "log.db") as guard:
            result = await Runner.run(agent(guard, tools, [ECHO, PAY]), "go")
            assert len(result.interruptions) == 1
            return result.to_state().to_string()

    async def second(text: str) -> Any:
        async with Guard(POLICY, log=tmp_path / "log.db") as guard:
            payer = agent(guard, tools)
            state = await RunState.from_string(payer, text)
            (item,) = state.get_interruptions()
            await answer_approval(state, item, {"granted": granted, "approver": "alice", "reason": "too much"})
            return await Runner.run(payer, state)

    result = asyncio.run(second(asyncio.run(first())))
    assert tools.ran == [("echo", {"text": "a"}), ("pay", {"amount": 40})][: 1 + granted]
    assert ("paid 40" if granted else "too much") in outputs(result)[1]
    with open_log(tmp_path / "log.db") as log:
        assert sorted(each.status for each in log.records()) == sorted(["ok", "ok" if granted else "denied"])


def test_a_streamed_run_is_guarded() -> None:
    tools = Tools()

    async def main() -> Any:
        async with Guard(POLICY) as guard:
            result = Runner.run_streamed(agent(guard, tools, [ECHO, Proposal("c", "echo", {"text": "secret"})]), "go")
            async for _ in result.stream_events():
                pass
            return result

    assert outputs(asyncio.run(main())) == ["a", "[denied] not permitted"]
    assert tools.ran == [("echo", {"text": "a"})]


@pytest.mark.parametrize("arguments", ["[1]", "{", '"x"'])
@pytest.mark.parametrize("granted", [True, False])
def test_arguments_that_are_no_object_run_nothing(arguments: str, granted: bool, tmp_path: Path) -> None:
    tools = Tools()

    async def main() -> Any:
        async with Guard(POLICY, log=tmp_path / "log.db") as guard:
            call = proposed(ECHO).model_copy(update={"arguments": arguments})
            first = agent(guard, tools, model=ScriptedModel([[call], [DONE]]))
            result = await Runner.run(first, "go")
            (item,) = result.interruptions  # the SDK asks about arguments that it cannot read
            state = result.to_state()
            await answer_approval(state, item, {"granted": granted, "approver": "alice"})
            return await Runner.run(first, state)

    assert outputs(asyncio.run(main()))[0].startswith("[invalid]")
    assert tools.ran == []
    with open_log(tmp_path / "log.db") as log:
        assert [each.status for each in log.records()] == ["invalid"]


def test_the_setting_of_a_tool_that_wants_an_approval_stays() -> None:
    tools = Tools()

    async def main() -> Any:
        async with Guard(POLICY) as guard:
            asking = [function_tool(each, needs_approval=True) for each in tools.functions(is_async=False)]
            first = agent(guard, tools, [ECHO], tools=asking)
            result = await Runner.run(first, "go")
            assert (tools.ran, len(result.interruptions)) == ([], 1)
            state = result.to_state()
            await answer_approval(state, result.interruptions[0], {"granted": True, "approver": "mallory"})
            return await Runner.run(first, state)

    assert outputs(asyncio.run(main())) == ["a"]


def test_an_item_of_another_agent_is_refused() -> None:
    async def main() -> None:
        fn = function_tool(Tools().functions(is_async=False)[0], needs_approval=True)
        plain = Agent(name="plain", model=model([[ECHO]]), tools=[fn])
        result = await Runner.run(plain, "go")
        await answer_approval(result.to_state(), result.interruptions[0], {"granted": True, "approver": "alice"})

    with pytest.raises(TypeError, match="GuardedAgent"):
        asyncio.run(main())
