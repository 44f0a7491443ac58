"""The conformance kit of agent-hooks on `run_agent`, and the interceptor at the real emitter."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

agent_hooks = pytest.importorskip("agent_hooks", reason="agent-hooks has an environment of its own: `make check-doors`")

from agent_hooks import AgentContextBuilder, InterceptionBlocked, InterceptionEmitter, Transform, Verdict  # noqa: E402
from agent_hooks.ctk import load_vectors, run_vectors  # noqa: E402

from bobcat import FinalAnswer, Guard, Message, Policy, ToolCall, ToolSet, auto_approve, tool  # noqa: E402
from bobcat.decision_log import open_log  # noqa: E402
from bobcat.guards.agent_hooks import GuardInterceptor  # noqa: E402
from bobcat.guards.agent_hooks_host import run_intercepted  # noqa: E402
from doors.agent_hooks.harness import Harness  # noqa: E402

VECTORS = load_vectors(None)
STREAMED = {f"AH-CTK-{number}" for number in range(110, 114)}
POLICY = Policy.compile(
    """
rules:
  - {id: small, match: {tool: pay, args.amount.between: [1, 9]}, decision: allow}
  - {id: pay, match: {tool: pay, args.amount.between: [10, 99]}, decision: approve_required, approvers: [alice]}
  - {id: shout, match: {tool: say}, decision: transform, transform: {jsonpath: $.args.text, append: "!"}}
"""
)


def test_run_agent_conforms_as_a_host() -> None:
    results = run_vectors(Harness, VECTORS)
    assert len(results) == len(VECTORS) >= 75
    assert [(each.id, each.failures) for each in results if each.status == "fail"] == []
    # Answers of a model are complete before an interceptor sees them: there is no incremental release.
    assert {each.id for each in results if each.status == "skip"} == STREAMED


def test_the_kit_notices_a_host_that_ignores_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InterceptionEmitter, "emit", InterceptionEmitter.emit_unchecked)
    assert sum(each.status == "fail" for each in run_vectors(Harness, VECTORS)) > 20


def emission(call: ToolCall, *interceptors: Any, resolver: Any = None) -> tuple[InterceptionEmitter, Any]:
    """An emitter with the interceptors, and the context of a call."""
    emitter = InterceptionEmitter(resolver=resolver)
    for each in interceptors:
        emitter.register(each)
    builder = AgentContextBuilder(agent_id="a", framework="test", session_id="s")
    return emitter, builder.pre_tool_call(call_id="c1", name=call.tool, args=dict(call.args))


def after(context: Any, value: Any = "done", **changed: Any) -> Any:
    builder = AgentContextBuilder(agent_id="a", framework="test", session_id="s")
    args = changed.get("args", context["tool_call"]["args"])
    return builder.post_tool_call(call_id="c1", name=context["tool_call"]["name"], args=args, value=value)


def statuses(place: Path) -> list[str]:
    with open_log(place) as log:
        return [each.status for each in log.records()]


PAY = ToolCall("pay", {"amount": 40})


@pytest.mark.parametrize(
    ("approver", "resolved", "record"),
    [("alice", True, "ok"), ("mallory", False, "denied"), (None, False, None)],
)
def test_an_approval_is_a_liftable_deny_that_the_resolver_lifts(
    approver: str | None, resolved: bool, record: str | None, tmp_path: Path
) -> None:
    async def main() -> None:
        async with Guard(POLICY, log=tmp_path / "log.db") as guard:
            door = GuardInterceptor(guard)
            resolver = None if approver is None else door.resolver(auto_approve(approver))
            emitter, context = emission(PAY, door, resolver=resolver)
            permitted = (await emitter.emit_unchecked(context)).proceeds
            assert permitted is resolved
            if permitted:
                await emitter.emit(after(context))

    asyncio.run(main())
    assert statuses(tmp_path / "log.db") == ([] if record is None else [record])


def test_the_resolver_leaves_the_liftable_denies_of_others() -> None:
    class Other:
        def intercept(self, context: Any) -> Verdict:
            return Verdict.escalate(reason="theirs")

    async def main() -> bool:
        async with Guard(POLICY) as guard:
            door = GuardInterceptor(guard)
            emitter, context = emission(PAY, Other(), door, resolver=door.resolver(auto_approve("alice")))
            return (await emitter.emit_unchecked(context)).proceeds

    assert asyncio.run(main()) is False


def test_a_transform_is_a_verdict_on_the_arguments() -> None:
    async def main() -> Any:
        async with Guard(POLICY) as guard:
            emitter, context = emission(ToolCall("say", {"text": "a"}), GuardInterceptor(guard))
            return (await emitter.emit(context)).target

    assert asyncio.run(main()) == {"text": "a!"}


@pytest.mark.parametrize("decided", [True, False])
def test_a_call_that_was_not_decided_as_it_ran_is_denied_afterwards(decided: bool, tmp_path: Path) -> None:
    async def main() -> None:
        async with Guard(POLICY, log=tmp_path / "log.db") as guard:
            emitter, context = emission(ToolCall("pay", {"amount": 4}), GuardInterceptor(guard))
            if decided:
                await emitter.emit(context)
            with pytest.raises(InterceptionBlocked, match="bobcat:changed" if decided else "bobcat:undecided"):
                await emitter.emit(after(context, args={"amount": 400}))

    asyncio.run(main())
    assert statuses(tmp_path / "log.db") == (["uncertain"] if decided else [])


def test_a_call_without_an_end_is_recorded_as_uncertain(tmp_path: Path) -> None:
    async def main() -> None:
        async with Guard(POLICY, log=tmp_path / "log.db") as guard:
            emitter, context = emission(ToolCall("pay", {"amount": 4}), GuardInterceptor(guard))
            await emitter.emit(context)
            end = AgentContextBuilder(agent_id="a", framework="test", session_id="s").agent_shutdown(reason="error")
            await emitter.emit_unchecked(end)

    asyncio.run(main())
    assert statuses(tmp_path / "log.db") == ["uncertain"]


@pytest.mark.parametrize(
    "context",
    [
        {},
        {"interception_point": "pre_tool_call"},
        {
            "interception_point": "pre_tool_call",
            "session": {"id": "s"},
            "tool_call": {"id": "c", "name": 3, "args": {}},
        },
        {"interception_point": "pre_tool_call", "session": {"id": "s"}, "tool_call": {"id": "c", "name": "pay"}},
        {"interception_point": "post_tool_call", "session": {"id": "s"}, "tool_call": {"id": "c", "name": "pay"}},
    ],
)
def test_a_context_that_cannot_be_read_is_denied(context: Any) -> None:
    async def main() -> Verdict:
        async with Guard(POLICY) as guard:
            return await GuardInterceptor(guard).intercept(context)

    verdict = asyncio.run(main())
    assert verdict.decision.blocks
    assert not verdict.is_liftable


class Scripted:
    """An agent that pays an amount and ends."""

    def __init__(self, amount: int) -> None:
        self.amount = amount
        self.seen: Sequence[Message] = ()

    async def step(self, conversation: Sequence[Message], /) -> FinalAnswer | ToolCall:
        self.seen = conversation
        return FinalAnswer("done") if conversation[-1].role == "tool" else ToolCall("pay", {"amount": self.amount}, "c")


class Sets:
    """An interceptor that sets the amount of a payment."""

    def __init__(self, amount: object) -> None:
        self.amount = amount

    def intercept(self, context: Any) -> Any:
        if context["interception_point"] != "pre_tool_call":
            return Verdict.allow()
        return Verdict.from_wire(
            {"decision": "transform", "transform": Transform("$target.amount", self.amount).to_wire()}
        )


@pytest.mark.parametrize(("amount", "ran"), [(7, [7]), (40, []), (400, []), ("x", [])])
def test_arguments_that_an_interceptor_changed_are_decided_again(amount: object, ran: list[int]) -> None:
    paid: list[Any] = []

    @tool(name="pay")
    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    agent = Scripted(4)
    result = asyncio.run(
        run_intercepted(
            agent,
            "go",
            emitter=InterceptionEmitter().register(Sets(amount)),
            tools=ToolSet.from_functions(pay),
            policy=POLICY,
        )
    )
    assert (result.final_answer, paid) == ("done", ran)
    assert ("[ok]" in agent.seen[-1].content) is bool(ran)
