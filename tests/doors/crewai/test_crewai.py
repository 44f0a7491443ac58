"""The door of CrewAI: tools that CrewAI adds, hooks that fail, other agents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

crewai = pytest.importorskip("crewai", reason="CrewAI has an environment of its own: `make check-doors`")

from crewai.agents.agent_builder.base_agent import BaseAgent  # noqa: E402
from crewai.hooks import on  # noqa: E402
from crewai.hooks.dispatch import InterceptionPoint, clear_all  # noqa: E402
from crewai.tools import tool as crewai_tool  # noqa: E402

from bobcat import Guard, Policy  # noqa: E402
from bobcat.decision_log import open_log  # noqa: E402
from bobcat.guards.crewai import GuardedTool, guard_crew  # noqa: E402
from doors.adapter import Proposal, Setup  # noqa: E402
from doors.crewai.door import served  # noqa: E402

POLICY = Policy.compile(
    """
rules:
  - {id: small, match: {tool: pay, args.amount.between: [1, 9]}, decision: allow}
  - {id: ask, match: {tool: Ask question to coworker, args.coworker: helper}, decision: allow}
"""
)
paid: list[int] = []


def pay(amount: int) -> str:
    """Pay an amount."""
    paid.append(amount)
    return f"paid {amount}"


@pytest.fixture(autouse=True)
def _nothing_paid() -> Iterator[None]:
    paid.clear()
    yield
    clear_all()


def agent_of(vendor: Any, role: str = "writer", **options: Any) -> Any:
    llm = crewai.LLM(model="openai/gpt-4o", base_url=vendor.url, api_key="test")
    options.setdefault("tools", [crewai_tool("pay")(pay)])
    return crewai.Agent(role=role, goal="tidy", backstory="old", llm=llm, **options)


def crew_of(agents: list[Any], **options: Any) -> Any:
    task = crewai.Task(description="go", expected_output="done", agent=agents[0], **options.pop("task", {}))
    return crewai.Crew(agents=agents, tasks=[task], verbose=False, **options)


def call(amount: int) -> list[Proposal]:
    return [Proposal("c", "pay", {"amount": amount})]


def texts(vendor: Any) -> list[str]:
    return [each["content"] for each in vendor.requests[-1]["messages"] if each["role"] == "tool"]


@pytest.mark.parametrize(("amount", "ran"), [(4, [4]), (1000, [])])
@pytest.mark.parametrize("where", ["agent", "task"])
def test_the_tools_of_agents_and_tasks_pass_the_guard(where: str, amount: int, ran: list[int]) -> None:
    tools = {"tools": [crewai_tool("pay")(pay)]}
    with Guard(POLICY) as guard, served(Setup(guard, [], [call(amount)])) as vendor:
        agent = agent_of(vendor, **({} if where == "agent" else {"tools": []}))
        guard_crew(crew_of([agent], task={} if where == "agent" else tools), guard).kickoff()
        assert ("[denied]" in texts(vendor)[0]) is not ran
    assert paid == ran


def test_a_hook_that_raises_or_changes_the_arguments_does_not_open_the_guard() -> None:
    @on(InterceptionPoint.PRE_TOOL_CALL)
    def change(context: Any) -> None:
        context.tool_input["amount"] = 1000
        raise RuntimeError("ignored by CrewAI")

    with Guard(POLICY) as guard, served(Setup(guard, [], [call(4)])) as vendor:
        guard_crew(crew_of([agent_of(vendor)]), guard).kickoff()
        assert "[denied]" in texts(vendor)[0]
    assert paid == []


@pytest.mark.parametrize("coworker", ["helper", "writer"])
def test_delegation_is_a_call_that_the_policy_decides(coworker: str, tmp_path: Path) -> None:
    asked = {"question": "q", "context": "c", "coworker": coworker}
    turns = [[Proposal("c", "ask_question_to_coworker", asked)]]
    with Guard(POLICY, log=tmp_path / "log.db") as guard:
        with served(Setup(guard, [], [*turns, None, None, None])) as vendor:  # type: ignore[list-item]
            agents = [agent_of(vendor, allow_delegation=True, tools=[]), agent_of(vendor, "helper", tools=[])]
            guard_crew(crew_of(agents), guard).kickoff()
    with open_log(tmp_path / "log.db") as log:
        ((tool, status),) = [(each.tool, each.status) for each in log.records()]
    assert (tool, status) == ("Ask question to coworker", "ok" if coworker == "helper" else "denied")


def test_a_second_kickoff_is_guarded_by_the_same_guard_once(tmp_path: Path) -> None:
    with Guard(POLICY, log=tmp_path / "log.db") as guard:
        with served(Setup(guard, [], [call(4), None, call(4)])) as vendor:  # type: ignore[list-item]
            crew = guard_crew(guard_crew(crew_of([agent_of(vendor)]), guard), guard)
            crew.kickoff()
            crew.kickoff()
    with open_log(tmp_path / "log.db") as log:
        assert [each.status for each in log.records()] == ["ok", "ok"]
    assert paid == [4, 4]


@pytest.mark.parametrize(("amount", "ran"), [(4, [4, 4]), (1000, [])])
def test_copies_of_a_crew_are_guarded(amount: int, ran: list[int]) -> None:
    turns = [call(amount), None, call(amount)]
    with Guard(POLICY) as guard, served(Setup(guard, [], turns)) as vendor:  # type: ignore[arg-type]
        guard_crew(crew_of([agent_of(vendor)]), guard).kickoff_for_each([{}, {}])
    assert paid == ran


@pytest.mark.parametrize(("amount", "ran"), [(4, [4]), (1000, [])])
def test_an_agent_of_a_guarded_crew_that_runs_alone_is_guarded(amount: int, ran: list[int]) -> None:
    with Guard(POLICY) as guard, served(Setup(guard, [], [call(amount)])) as vendor:
        agent = agent_of(vendor)
        guard_crew(crew_of([agent]), guard)
        agent.kickoff("go")
    assert paid == ran


@pytest.mark.parametrize(("amount", "ran"), [(4, [4]), (1000, [])])
def test_the_manager_of_a_hierarchical_crew_is_guarded(amount: int, ran: list[int]) -> None:
    policy = Policy.compile(
        """
        rules:
          - {id: small, match: {tool: pay, args.amount.between: [1, 9]}, decision: allow}
          - {id: delegate, match: {tool: Delegate work to coworker}, decision: allow}
        """
    )
    work = {"task": "t", "context": "c", "coworker": "writer"}
    turns = [[Proposal("d", "delegate_work_to_coworker", work)], call(amount), None]
    with Guard(policy) as guard, served(Setup(guard, [], turns)) as vendor:  # type: ignore[arg-type]
        llm = crewai.LLM(model="openai/gpt-4o", base_url=vendor.url, api_key="test")
        crew = crew_of([agent_of(vendor)], process=crewai.Process.hierarchical, manager_llm=llm)
        guard_crew(crew, guard).kickoff()
    assert paid == ran


def test_the_loop_of_the_guard_itself_cannot_wait_for_a_crew() -> None:
    async def main() -> str:
        async with Guard(POLICY) as guard:
            return str(GuardedTool.around(crewai_tool("pay")(pay), guard).run(amount=4))

    assert "[failed]" in asyncio.run(main())
    assert paid == []


def test_agents_that_the_guard_does_not_see_are_refused() -> None:
    class Other(BaseAgent):
        def execute_task(self, *_: Any, **__: Any) -> str:
            return ""

        async def aexecute_task(self, *_: Any, **__: Any) -> str:
            return ""

        def create_agent_executor(self, *_: Any, **__: Any) -> None:
            pass

        def get_delegation_tools(self, *_: Any) -> list[Any]:
            return []

        def get_platform_tools(self, *_: Any) -> list[Any]:
            return []

        def get_mcp_tools(self, *_: Any) -> list[Any]:
            return []

        async def aget_mcp_tools(self, *_: Any) -> list[Any]:
            return []

    with Guard(POLICY) as guard, served(Setup(guard, [], [])) as vendor:
        with pytest.raises(ValueError, match="Other"):
            guard_crew(crew_of([Other(role="r", goal="g", backstory="b")]), guard)
        with pytest.raises(TypeError, match="Crew"):
            guard_crew(agent_of(vendor), guard)
