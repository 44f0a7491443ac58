"""The definition of an MCP tool is pinned: what was granted is what runs.

The same tests run with either generation of the SDK; `test_other_sdks.py` runs them with the one not installed here.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    FinalAnswer,
    MemoryStore,
    RunResult,
    ToolCall,
    ToolSet,
    compile_policy,
    durable_approvals,
    run_agent,
    tool,
)  # fmt: skip
from bobcat.adapters.mcp import mcp_pins, mcp_tools
from bobcat.approvals import Approvals, ConfirmationGate, StoredConfirmationGate
from bobcat.approvals.binding import question_digest
from bobcat.approvals.grants import grant_key
from bobcat.errors import McpServerError
from bobcat.model.run import ApprovalDecision, ApprovalRequest
from bobcat.runtime.mediator import mediate
from kernel.scripted import Scripted

SERVER = Path(__file__).parent / "changing_server.py"
ALL = compile_policy("rules: [{id: all, match: {}, decision: allow}]")
ASK = compile_policy("rules: [{id: ask, match: {}, decision: approve_required}]")
SEND = {
    "name": "send",
    "title": "Send",
    "description": "Send a message to a colleague.",
    "inputSchema": {
        "type": "object",
        "properties": {"to": {"type": "string"}, "copy": {"type": "string", "default": "archive"}},
        "required": ["to"],
    },
    "outputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
    "annotations": {"readOnlyHint": False, "title": "Send"},
}
LIST = {"name": "list", "description": "List messages.", "inputSchema": {"type": "object"}}
CHANGES: dict[str, dict[str, Any]] = {
    "description": {"description": "Send a message to anybody."},
    "title": {"title": "Broadcast"},
    "input schema": {"inputSchema": {**SEND["inputSchema"], "required": []}},
    "output schema": {"outputSchema": {"type": "object"}},
    "annotations": {"annotations": {"readOnlyHint": True, "title": "Send"}},
}


class Server:
    """The files of a `changing_server`."""

    def __init__(self, place: Path) -> None:
        self.tools, self.calls = place / "tools.json", place / "calls.jsonl"
        self.define(SEND, LIST)

    def define(self, *tools: dict[str, Any]) -> None:
        self.tools.write_text(json.dumps(tools))

    def command(self) -> list[str]:
        return [sys.executable, str(SERVER), str(self.tools), str(self.calls)]

    def called(self) -> list[Any]:
        return [json.loads(line) for line in self.calls.read_text().splitlines()] if self.calls.exists() else []


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


async def _pins(server: Server) -> dict[str, dict[str, str]]:
    async with mcp_tools(server.command()) as tools:
        return mcp_pins(tools)


def _told_after(server: Server, change: Callable[[], None]) -> str:
    """The model's message about a call of `send` when the server changes between listing and call."""
    agent = Scripted(ToolCall("send", {"to": "x"}), FinalAnswer("done"))

    async def run() -> RunResult:
        async with mcp_tools(server.command()) as tools:
            change()
            return await run_agent(agent, "go", tools=tools, policy=ALL)

    assert asyncio.run(run()).error is None
    return str(agent.seen[1][-1].content)


@pytest.mark.parametrize("part", CHANGES)
def test_a_tool_that_is_defined_otherwise_after_it_was_listed_is_not_called(server: Server, part: str) -> None:
    reported = _told_after(server, lambda: server.define({**SEND, **CHANGES[part]}, LIST))
    assert reported.startswith("[error] McpServerError: MCP server ")
    assert f"the {part} of `send` has changed; it was not called" in reported
    assert server.called() == []


def test_a_tool_that_is_gone_after_it_was_listed_is_not_called(server: Server) -> None:
    reported = _told_after(server, lambda: server.define(LIST))
    assert "no longer lists tool `send`; it was not called" in reported
    assert server.called() == []


def test_a_second_definition_of_a_tool_is_not_called(server: Server) -> None:
    reported = _told_after(server, lambda: server.define(SEND, {**SEND, "description": "Another."}))
    assert "the description of `send` has changed" in reported
    assert server.called() == []


def test_a_change_of_another_tool_or_of_the_order_changes_nothing(server: Server) -> None:
    turned = dict(reversed(SEND.items()))
    assert _told_after(server, lambda: server.define({**LIST, "description": "x"}, turned)) == "[ok] sent"
    assert server.called() == [{"to": "x", "copy": "archive"}]


def test_pins_hold_the_digest_of_every_part(server: Server) -> None:
    async def listed() -> ToolSet:
        async with mcp_tools(server.command()) as tools:
            return tools

    tools = asyncio.run(listed())
    pins = mcp_pins(tools)
    assert sorted(pins) == ["list", "send"]
    assert pins["send"]["digest"] == tools.get("send").definition
    assert len({tuple(pin.values()) for pin in pins.values()}) == 2
    for part, change in CHANGES.items():
        server.define({**SEND, **change}, LIST)
        changed = asyncio.run(_pins(server))["send"]
        assert {name for name in changed if changed[name] != pins["send"][name]} == {"digest", part}


@pytest.mark.parametrize("part", CHANGES)
@pytest.mark.parametrize("kept", ["mapping", "file", "digests"])
def test_a_server_that_does_not_fit_its_pins_is_refused(server: Server, part: str, kept: str, tmp_path: Path) -> None:
    pins: Any = asyncio.run(_pins(server))
    if kept == "file":
        (tmp_path / "pins.json").write_text(json.dumps(pins))
        pins = tmp_path / "pins.json"
    elif kept == "digests":
        pins = {name: pin["digest"] for name, pin in pins.items()}

    async def names() -> tuple[str, ...]:
        async with mcp_tools(server.command(), pins=pins) as tools:
            return tools.names()

    assert asyncio.run(names()) == ("list", "send")
    server.define({**SEND, **CHANGES[part]}, LIST)
    named = "definition" if kept == "digests" else part
    with pytest.raises(McpServerError, match=f"does not match its pins: the {named} of `send` has changed$"):
        asyncio.run(names())


def test_tools_that_are_not_pinned_and_pins_without_a_tool_are_refused(server: Server) -> None:
    pins = asyncio.run(_pins(server))

    async def start(pins: Any) -> None:
        async with mcp_tools(server.command(), pins=pins):
            pass

    with pytest.raises(McpServerError, match=r"`list` is listed but not pinned$"):
        asyncio.run(start({"send": pins["send"]}))
    with pytest.raises(McpServerError, match=r"`gone` is pinned but not listed$"):
        asyncio.run(start({**pins, "gone": "00"}))
    server.define({**SEND, "description": "x", "title": "y"}, {**LIST, "name": "new"})
    with pytest.raises(
        McpServerError, match=r"`list` is .*; `new` is .*; the title, description of `send` have changed$"
    ):
        asyncio.run(start(pins))


@pytest.mark.parametrize("pins", [["send"], {"send": 1}, {"send": {"digest": 1}}, {"send": {"title": "00"}}, {1: "00"}])
def test_pins_of_another_shape_are_refused(server: Server, pins: Any) -> None:
    async def start() -> None:
        async with mcp_tools(server.command(), pins=pins):
            pass

    with pytest.raises(ValueError, match=r"^(pins must be a mapping|the pin of)"):
        asyncio.run(start())


def test_a_file_of_pins_that_is_no_json_is_refused(server: Server, tmp_path: Path) -> None:
    async def start() -> None:
        async with mcp_tools(server.command(), pins=str(tmp_path / "pins.json")):
            pass

    (tmp_path / "pins.json").write_text("send: 00")
    with pytest.raises(ValueError, match=r"pins\.json: pins must be a JSON object of tool names and digests"):
        asyncio.run(start())
    (tmp_path / "pins.json").unlink()
    with pytest.raises(FileNotFoundError):
        asyncio.run(start())


def _suspend_grant_and_resume(server: Server, change: dict[str, Any], **more: Any) -> tuple[RunResult, RunResult]:
    """A run that waits for an approval, which is granted; the server is changed, and the run goes on."""
    store = MemoryStore()

    async def run(*replies: Any, **more: Any) -> RunResult:
        agent = Scripted(*replies)
        async with mcp_tools(server.command()) as tools:
            return await run_agent(
                agent, "go", tools=tools, policy=ASK, store=store, run_id="r",
                on_approval=durable_approvals(store), **more,
            )  # fmt: skip

    async def both() -> tuple[RunResult, RunResult]:
        first = await run(ToolCall("send", {"to": "x"}))
        [approval] = first.approvals
        await Approvals(store).grant(approval, approver="alice")
        server.define({**SEND, **change}, LIST)
        return first, await run(FinalAnswer("done"), **more)

    return asyncio.run(both())


def test_a_grant_counts_for_the_definition_that_it_was_given_for(server: Server) -> None:
    first, second = _suspend_grant_and_resume(server, {})
    assert (first.status, second.status) == ("suspended", "succeeded")
    assert server.called() == [{"to": "x", "copy": "archive"}]


@pytest.mark.parametrize("part", CHANGES)
def test_a_grant_does_not_count_for_another_definition(server: Server, part: str) -> None:
    first, second = _suspend_grant_and_resume(server, CHANGES[part])
    assert second.error is not None
    assert "the run was begun with other tools: `send`" in second.error
    again, third = _suspend_grant_and_resume(server, {"description": "Send it to all."}, allow_changed=("tools",))
    assert third.status == "suspended"
    assert third.approvals != again.approvals
    assert first.status == "suspended"
    assert server.called() == []


def test_a_handler_gets_the_definition(server: Server) -> None:
    asked: list[ApprovalRequest] = []

    async def grant(request: ApprovalRequest) -> ApprovalDecision:
        asked.append(request)
        return ApprovalDecision(True, "alice")

    @tool()
    async def own(to: str) -> str:
        """A tool of this program."""
        return to

    async def run() -> str:
        calls = (ToolCall("send", {"to": "x"}), ToolCall("own", {"to": "x"}))
        async with mcp_tools(server.command()) as tools:
            both = tools.union(ToolSet.from_functions(own))
            agent = Scripted(calls, FinalAnswer("done"))
            await run_agent(agent, "go", tools=both, policy=ASK, on_approval=grant)
            await run_agent(
                Scripted(calls, FinalAnswer("")), "go", tools=both, policy=ASK, on_approval=grant,
                store=MemoryStore(), run_id="r",
            )  # fmt: skip
            request, decision = asked[0].request, asked[0].decision
            await mediate(request, decision, both, grant)
            return tools.get("send").definition

    definition = asyncio.run(run())
    assert [request.definition for request in asked] == [definition, "", definition, "", definition]


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("args", [None, {"to": "x", "copy": "archive"}])
def test_a_grant_ahead_of_time_can_be_bound_to_a_definition(server: Server, kept: bool, args: Any) -> None:
    async def run(*, bound: bool) -> str:
        store = MemoryStore()
        gate: Any = StoredConfirmationGate(store) if kept else ConfirmationGate()
        async with mcp_tools(server.command()) as tools:
            definition = tools.get("send").definition if bound else None
        granted = gate.grant("send", args=args, definition=definition)
        if kept:
            await granted
        server.define({**SEND, "description": "Send it to all."}, LIST)
        agent = Scripted((ToolCall("send", {"to": "x"}),) * 2, FinalAnswer("done"))
        async with mcp_tools(server.command()) as tools:
            await run_agent(agent, "go", tools=tools, policy=ASK, on_approval=gate)
        server.define(SEND, LIST)
        if bound:
            agent = Scripted((ToolCall("send", {"to": "x"}),) * 2, FinalAnswer("done"))
            assert server.called() == []
            async with mcp_tools(server.command()) as tools:
                await run_agent(agent, "go", tools=tools, policy=ASK, on_approval=gate)
        return str([message.content for message in agent.seen[1] if message.role == "tool"])

    for bound in (True, False):
        reported = asyncio.run(run(bound=bound))
        assert reported.count("[ok] sent") == 1
        assert reported.count("no grant for") == 1
        server.calls.unlink()


def test_the_place_of_a_grant_without_a_definition_is_the_one_it_always_was() -> None:
    assert (
        grant_key("send", {"to": "x"}, "r").key() == "3fc4323d699b9c5a197f2ad5545c860fdcad1b5bc8ebdaa4e9e5b03c258990e1"
    )
    assert list(grant_key("send", {"to": "x"}, "r").names()) == ["target", "args", "scope"]
    with pytest.raises(ValueError, match="a definition must be a digest"):
        ConfirmationGate().grant("send", definition="")


def test_the_digest_of_a_question_without_a_definition_is_the_one_it_always_was() -> None:
    digest = "4a2b"
    without = question_digest(digest, "send", {"to": "x"})
    assert without == question_digest(digest, "send", {"to": "x"}, "")
    assert without != question_digest(digest, "send", {"to": "x"}, "d1")
    assert without == "b212c7280e16e5c9424dbcbb2b0c987abee881e17e8bd276e6694a5993c72424"
