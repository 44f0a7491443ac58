"""The door of Agent Framework: the place of its middleware, approvals, hosted tools, streams."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agent_framework", reason="Agent Framework has an environment of its own: `make check-doors`")

from agent_framework import (
    Agent,
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    Message,
    MiddlewareFailure,
)
from agent_framework import tool as framework_tool

from bobcat import Guard, Policy, auto_approve
from bobcat.decision_log import open_log
from bobcat.guards.agent_framework import approve, guard_middleware
from doors.adapter import Proposal
from doors.agent_framework.door import FakeClient

POLICY = Policy.compile(
    """
rules:
  - {id: small, match: {tool: pay, args.amount.between: [1, 9]}, decision: allow}
  - {id: large, match: {tool: pay, args.amount.between: [10, 99]}, decision: approve_required, approvers: [alice]}
"""
)
paid: list[int] = []


@framework_tool
def pay(amount: int) -> str:
    """Pay an amount."""
    paid.append(amount)
    return f"paid {amount}"


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    paid.clear()


class Sets(FunctionMiddleware):
    """Sets the amount of a payment."""

    def __init__(self, amount: int) -> None:
        self.amount = amount

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        context.arguments = {"amount": self.amount}
        await call_next()


def call(amount: int) -> list[Proposal]:
    return [Proposal("c", "pay", {"amount": amount})]


def agent_of(amount: int, guard: Guard, before: Any = (), after: Any = (), **options: Any) -> Agent:
    tools = options.pop("tools", [pay])
    middleware = [*before, *guard_middleware(guard, **options), *after]
    return Agent(client=FakeClient([call(amount)]), tools=tools, middleware=middleware)


def run(amount: int, *, stream: bool = False, **options: Any) -> Any:
    async def main() -> Any:
        async with Guard(POLICY) as guard:
            agent = agent_of(amount, guard, **options)
            return await (agent.run("go", stream=True).get_final_response() if stream else agent.run("go"))

    return asyncio.run(main())


@pytest.mark.parametrize(("amount", "ran"), [(4, [4]), (1000, [])])
@pytest.mark.parametrize("stream", [False, True])
def test_a_call_is_decided_as_earlier_middleware_leaves_it(amount: int, ran: list[int], stream: bool) -> None:
    assert run(5, before=[Sets(amount)], stream=stream).text == "done"
    assert paid == ran


@pytest.mark.parametrize("amount", [1000, 5])
def test_a_later_middleware_that_changes_a_decided_call_ends_the_run(amount: int) -> None:
    with pytest.raises(MiddlewareFailure):
        run(4, after=[Sets(amount)])
    assert paid == []


def answered(respond: Callable[[Content], Content], place: Path, *, session: bool = True) -> None:
    """Run a call that needs an approval, and answer its request."""

    async def main() -> None:
        async with Guard(POLICY, log=place / "log.db") as guard:
            agent = agent_of(40, guard)
            kept = agent.create_session() if session else None
            (asked,) = (await agent.run("go", session=kept)).user_input_requests
            assert asked.additional_properties["bobcat"]["args"] == {"amount": 40}
            await agent.run(Message("user", [respond(asked)]), session=kept)

    asyncio.run(main())


ALICE = {"granted": True, "approver": "alice"}


@pytest.mark.parametrize(
    ("respond", "ran", "records"),
    [
        (lambda asked: approve(asked, ALICE), [40], ["ok"]),
        (lambda asked: approve(asked, {**ALICE, "approver": "mallory"}), [], ["denied"]),
        (lambda asked: asked.to_function_approval_response(approved=True), [], ["denied"]),
        (lambda asked: asked.to_function_approval_response(approved=False), [], []),
    ],
    ids=["granted", "another approver", "approved without an approver", "refused by the framework"],
)
def test_an_approval_request_is_answered_for_the_guard(
    respond: Any, ran: list[int], records: list[str], tmp_path: Path
) -> None:
    answered(respond, tmp_path)
    with open_log(tmp_path / "log.db") as log:
        assert [each.status for each in log.records()] == records
    assert paid == ran


def test_an_answer_to_another_call_does_not_run_it(tmp_path: Path) -> None:
    def forged(asked: Content) -> Content:
        response = approve(asked, ALICE)
        response.function_call.arguments = {"amount": 99}
        return response

    answered(forged, tmp_path)
    assert paid in ([], [40])


def test_only_an_approval_request_can_be_approved() -> None:
    with pytest.raises(TypeError, match="function_approval_request"):
        approve(Content.from_text("yes"), ALICE)


def test_without_interrupts_the_handler_of_the_guard_is_asked() -> None:
    async def main() -> None:
        async with Guard(POLICY, on_approval=auto_approve("alice")) as guard:
            await agent_of(40, guard, interrupts=False).run("go")

    asyncio.run(main())
    assert paid == [40]


def test_tools_of_the_provider_are_refused() -> None:
    tools = [pay, {"type": "web_search"}]
    with pytest.raises(Exception, match="web_search"):
        run(4, tools=tools)
    assert paid == []
    run(4, tools=tools, hosted_tools=True)
    assert paid == [4]
