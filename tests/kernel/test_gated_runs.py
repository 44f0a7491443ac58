"""Gates and allowlists as the approval handlers of a run, and inside its tools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat import (
    ActionBlocked,
    Allowlist,
    ConfirmationGate,
    MemoryStore,
    StoredConfirmationGate,
    ToolSet,
    auto_approve,
    current_scope,
    tool,
)
from documents import Documents
from kernel.scripted import Tools, call, run, seen


def test_a_grant_lets_one_call_through() -> None:
    gate = ConfirmationGate()
    gate.grant("restart")
    finished = seen(call("restart", targets=["a"]), call("restart", targets=["b"]), on_approval=gate)
    assert finished.ran == [("restart", {"targets": ["a"]})]
    assert finished.tool_messages == [
        "[ok] restarted",
        "[denied] approval refused by gate — no grant for 'restart'",
    ]


def test_a_grant_by_somebody_who_may_not_grant_is_not_spent() -> None:
    gate = ConfirmationGate()
    gate.grant("deploy", approver="mallory")
    assert seen(call("deploy", version="1"), on_approval=gate).ran == []
    assert gate.consume("deploy") is not None
    gate.grant("deploy", approver="alice")
    assert seen(call("deploy", version="1"), on_approval=gate).tool_messages == ["[ok] deployed 1"]


def test_a_grant_for_exact_arguments_is_for_the_arguments_that_run() -> None:
    gate = ConfirmationGate()
    gate.grant("restart", args={"targets": ["a"]})
    finished = seen(call("restart", targets=["a", "b"]), call("restart", targets=["a"]), on_approval=gate)
    assert finished.ran == [("restart", {"targets": ["a"]})]


def test_a_grant_for_one_run_is_of_no_use_to_another() -> None:
    gate = ConfirmationGate(strict=True)
    gate.grant("restart", scope="run-1")
    for run_id, expected in (("run-2", []), ("run-1", [("restart", {"targets": []})])):
        assert seen(call("restart", targets=[]), on_approval=gate, store=MemoryStore(), run_id=run_id).ran == expected


def test_the_target_can_be_an_argument() -> None:
    gate = ConfirmationGate(target=lambda request: request.args["version"])
    gate.grant("1.2")
    finished = seen(call("deploy", version="1.3"), call("restart", targets=[]), on_approval=gate)
    assert finished.ran == []
    assert finished.tool_messages[1].startswith("[denied] approval handler raised ActionBlocked: the call of 'restart'")


def test_without_a_grant_somebody_else_is_asked() -> None:
    gate = ConfirmationGate(otherwise=auto_approve("bob"))
    assert seen(call("restart", targets=[]), on_approval=gate).tool_messages == ["[ok] restarted"]


def test_a_target_on_the_allowlist_needs_no_approver() -> None:
    listed = Allowlist(["restart"])
    assert seen(call("restart", targets=[]), on_approval=listed).tool_messages == ["[ok] restarted"]
    assert seen(call("deploy", version="1"), on_approval=listed).ran == []
    answered = seen(call("deploy", version="1"), on_approval=Allowlist([], otherwise=auto_approve("alice")))
    assert answered.tool_messages == ["[ok] deployed 1"]


def test_a_run_that_dies_after_its_grant_was_spent_gets_it_again() -> None:
    """The grant is spent in the store, and the journal does not know it yet."""

    class Breaks(MemoryStore):
        broken = True

        async def append(self, record: Any) -> None:
            if self.broken and record.kind == "approval.granted":
                raise OSError("no space left")
            await super().append(record)

    async def main() -> None:
        documents, journal, tools = Documents(), Breaks(), Tools()
        gate = StoredConfirmationGate(documents)  # type: ignore[arg-type]
        await gate.grant("restart")
        options: dict[str, Any] = {"on_approval": gate, "store": journal, "run_id": "r", "tools": tools}
        first = await run(call("restart", targets=["a"]), **options)
        assert first.result.error is not None
        assert tools.ran == []
        journal.broken = False
        second = await run(**options)
        assert second.tool_messages == ["[ok] restarted"]
        assert tools.ran == [("restart", {"targets": ["a"]})]
        assert await gate.consume("restart") is None

    asyncio.run(main())


def test_a_tool_knows_the_scope_it_runs_in_and_can_require_a_grant() -> None:
    gate, scopes = ConfirmationGate(strict=True), []

    @tool()
    async def echo(text: str) -> str:
        scopes.append(current_scope())
        gate.require(text)
        return text

    tools = Tools()
    tools.toolset = lambda: ToolSet.from_functions(echo)  # type: ignore[method-assign]
    gate.grant("a", scope="c-1")
    finished = seen(call("echo", text="a"), call("echo", text="a"), tools=tools, correlation_id="c-1")
    assert scopes == ["c-1", "c-1"]
    assert finished.tool_messages[0] == "[ok] a"
    assert finished.tool_messages[1].startswith("[error] ActionBlocked: no grant for 'a'")
    assert current_scope() is None
    with pytest.raises(ActionBlocked):
        gate.require("a", scope="c-1")
