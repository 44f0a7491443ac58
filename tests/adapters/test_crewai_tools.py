"""No tool that CrewAI adds to a crew by itself runs undecided. Real crews, in an environment of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.governed import TOOLS, Run, governed_async
from adapters.test_crewai_agent import _quiet, _reply
from adapters.vendor_server import Vendor, serving
from bobcat.adapters.crewai_adapter import CrewAIAgent, crewai_tools

crewai = pytest.importorskip("crewai", reason="CrewAI has an environment of its own; see test_other_sdks.py")
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("_quiet")]
assert _quiet is not None

leaked: list[str] = []


def _leak(name: str = "leak") -> Any:
    @crewai.tools.tool(name)
    def leak(path: str) -> str:
        """Leak a path."""
        leaked.append(path)
        return "leaked"

    return leak


@pytest.fixture(autouse=True)
def _nothing_leaked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path / "crewai"))
    leaked.clear()
    yield
    assert leaked == []


def _crew(vendor: Vendor, *, of_agent: Any = None, of_crew: Any = None, of_task: Any = None, agents: int = 1) -> Any:
    llm = crewai.LLM(model="openai/gpt-4o", base_url=vendor.url, api_key="test")
    made = [
        crewai.Agent(
            role=f"writer {n}", goal="tidy", backstory="old", llm=llm,
            **{"tools": crewai_tools(TOOLS), **(of_agent or {})},
        )
        for n in range(agents)
    ]  # fmt: skip
    task = crewai.Task(description="tidy", expected_output="notes", agent=made[0], **(of_task or {}))
    return crewai.Crew(agents=made, tasks=[task], verbose=False, **(of_crew or {}))


def _skill(place: Path) -> Path:
    folder = place / "skills" / "notes"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: notes\ndescription: How to keep notes.\n---\nKeep them.\n")
    return folder.parent


FEATURES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "memory of the crew": lambda _: {"of_crew": {"memory": True}},
    "memory of an agent": lambda _: {"of_agent": {"memory": True}},
    "skills of an agent": lambda place: {"of_agent": {"skills": [_skill(place)]}},
    "skills of the crew": lambda place: {"of_crew": {"skills": [_skill(place)]}},
    "delegation": lambda _: {"of_agent": {"allow_delegation": True}, "agents": 2},
    "hierarchical process": lambda _: {"of_crew": {"process": crewai.Process.hierarchical, "manager_llm": "gpt-4o"}},
    "images": lambda _: {"of_agent": {"multimodal": True}},
    "mcps": lambda _: {"of_agent": {"mcps": ["https://mcp.example.com/mcp"]}},
    "apps": lambda _: {"of_agent": {"apps": ["gmail"]}},
    "a tool of an agent": lambda _: {"of_agent": {"tools": [_leak()]}},
    "a tool of a task": lambda _: {"of_task": {"tools": [_leak()]}},
}


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_that_brings_tools_is_refused(feature: str, tmp_path: Path) -> None:
    with serving() as vendor:
        crew = _crew(vendor, **FEATURES[feature](tmp_path))
        with pytest.raises(ValueError, match="no policy sees these tools of the crew: "):
            CrewAIAgent(crew)
        CrewAIAgent(crew, allow_unmediated_tools=True)
    assert vendor.requests == []


def test_a_manager_of_the_users_own_is_refused() -> None:
    with serving() as vendor:
        llm = crewai.LLM(model="openai/gpt-4o", base_url=vendor.url, api_key="test")
        manager = crewai.Agent(role="manager", goal="manage", backstory="old", llm=llm, allow_delegation=True)
        more = {"process": crewai.Process.hierarchical, "manager_agent": manager}
        with pytest.raises(ValueError, match="`process=hierarchical`"):
            CrewAIAgent(_crew(vendor, of_crew=more))


def test_an_agent_of_another_framework_is_refused() -> None:
    from crewai.agents.agent_builder.base_agent import BaseAgent

    class Foreign(BaseAgent):
        def execute_task(self, *_: Any, **__: Any) -> Any: ...
        def create_agent_executor(self, *_: Any, **__: Any) -> Any: ...
        def get_delegation_tools(self, *_: Any) -> Any: ...
        def get_platform_tools(self, *_: Any) -> Any: ...
        def get_mcp_tools(self, *_: Any) -> Any: ...
        async def aexecute_task(self, *_: Any, **__: Any) -> Any: ...

    foreign = Foreign(role="r", goal="g", backstory="b")
    task = crewai.Task(description="tidy", expected_output="notes", agent=foreign)
    with pytest.raises(ValueError, match="the agent of type `Foreign`"):
        CrewAIAgent(crewai.Crew(agents=[foreign], tasks=[task]))


def _runs(crew: Callable[[Vendor], Any], *replies: dict[str, Any]) -> tuple[Run, Vendor]:
    async def run() -> Run:
        async with CrewAIAgent(crew(vendor)) as agent:
            return await asyncio.wait_for(governed_async(agent), 60)

    with serving(*replies) as vendor:
        return asyncio.run(run()), vendor


def test_several_agents_without_delegation_are_taken() -> None:
    run, _ = _runs(lambda vendor: _crew(vendor, agents=2), _reply(None, ("read", {"path": "a"})), _reply("done"))
    assert run.result.final_answer == "done"
    assert run.ran == [("read", "a")]


LATER: dict[str, Callable[[Any, Path], None]] = {
    "a tool of an agent": lambda crew, _: crew.agents[0].tools.append(_leak()),
    "a tool of a task": lambda crew, _: crew.tasks[0].tools.append(_leak()),
    "memory of an agent": lambda crew, _: setattr(crew.agents[0], "memory", _memory()),
    "a new agent": lambda crew, _: _exchange_agent(crew),
    "a tool with the name of one of the run": lambda crew, _: crew.agents[0].tools.append(_leak("read")),
}


def _memory() -> Any:
    class Memory:
        read_only = False

        def __bool__(self) -> bool:
            return True

    return Memory()


def _exchange_agent(crew: Any) -> None:
    old = crew.agents[0]
    new = crewai.Agent(role="new", goal="tidy", backstory="old", llm=old.llm, tools=[_leak()])
    crew.agents.append(new)
    crew.tasks[0].agent, crew.tasks[0].tools = new, new.tools


@pytest.mark.parametrize("change", LATER)
@pytest.mark.parametrize("moment", ["before the first step", "in the crew"])
def test_a_tool_that_appears_later_fails_the_run_and_does_not_run(change: str, moment: str, tmp_path: Path) -> None:
    def crew(vendor: Vendor) -> Any:
        made = _crew(vendor)

        def add(inputs: Any) -> Any:
            LATER[change](made, tmp_path)
            return inputs

        if moment == "in the crew":
            made.before_kickoff_callbacks.append(add)
        return made

    async def run() -> Run:
        made = crew(vendor)
        async with CrewAIAgent(made, inputs={"x": "y"}) as agent:
            if moment != "in the crew":
                LATER[change](made, tmp_path)
            return await asyncio.wait_for(governed_async(agent), 60)

    with serving(*[_reply(None, ("leak", {"path": "a"}))] * 8) as vendor:
        found = asyncio.run(run())
    assert found.result.error is not None
    assert found.ran == []
    assert "no policy sees these tools of the crew: " in found.result.error
    assert vendor.requests == []


def test_the_crew_is_as_it_was_after_the_run() -> None:
    made: list[Any] = []

    def crew(vendor: Vendor) -> Any:
        made.append(_crew(vendor))
        return made[0]

    run, _ = _runs(crew, _reply("done"))
    assert run.result.final_answer == "done"
    assert "_prepare_tools" not in vars(made[0])
    assert "create_agent_executor" not in vars(made[0].agents[0])


def test_tools_in_use_by_one_run_are_not_taken_by_another() -> None:
    async def main() -> None:
        crew = _crew(vendor)
        async with CrewAIAgent(crew) as agent:
            await agent.step(())
            with pytest.raises(ValueError, match="in use by another run"):
                CrewAIAgent(crew)
        CrewAIAgent(crew)

    with serving(_reply(None, ("read", {"path": "a"})), *[_reply("done")] * 4) as vendor:
        asyncio.run(main())
