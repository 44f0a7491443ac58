"""Inspection of a crew's tools: the ones it is built with, the ones CrewAI adds, and the ones an agent is about to use.

A tool belongs to the run when `crewai_tools` made it. CrewAI adds others by itself, for features enabled at agents and
crew. `check` refuses such a crew before it runs. `while_running` checks the effective tools of each agent, after
CrewAI's additions and before the agent can use them.

INVARIANT: under `while_running`, no agent of a strictly inspected crew begins a task with a tool that does not belong
to the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bobcat.adapters.crew_bridge import BridgeHandle, CrewBridge
from bobcat.text.display import safe_text

_AGENT_FEATURES = ("memory", "skills", "allow_code_execution", "multimodal", "apps", "mcps", "a2a")
_CREW_FEATURES = ("memory", "skills", "manager_agent")
_TASK_FEATURES = ("input_files",)
_RESULT_READER = "DeferredToolResultReader"
"""CrewAI's reader of long results, which shows an agent a result of the run again, and nothing else."""


# Any throughout: crews, agents, tasks and tools are CrewAI's.
class Inspection:
    """Inspection of the tools of one crew, all of which must belong to `bridge`. A `lenient` one refuses none."""

    def __init__(self, crew: Any, bridge: CrewBridge, *, lenient: bool) -> None:
        self._crew = crew
        self._exchange = bridge
        self._lenient = lenient
        self._refused: ValueError | None = None

    def check(self) -> None:
        """Connect the crew's own tools to the bridge. Raises `ValueError` for a crew with others."""
        outside: list[str] = []
        for owner, features in self._owners():
            outside += self._foreign(getattr(owner, "tools", None) or ())
            outside += [f"`{feature}`" for feature in features if getattr(owner, feature, None)]
        outside += self._process_features()
        if self._lenient:
            return
        outside += [f"the agent of type `{type(agent).__name__}`" for agent in self._agents() if not _is_agent(agent)]
        if not outside:  # else the crew would connect to the feature for which it is refused
            outside += self._offered()
        self._refuse(outside)

    @contextmanager
    def while_running(self) -> Iterator[None]:
        """Check the tools of each task while the crew runs. Raises the refusal even when the crew swallowed it."""
        with ExitStack() as replaced:
            if not self._lenient:
                self._watch_crew(replaced)
                for agent in self._agents():
                    self._watch_agent(replaced, agent)
            yield
        if self._refused is not None:
            raise self._refused

    def _watch_crew(self, replaced: ExitStack) -> None:
        prepare: Callable[..., Any] | None = getattr(self._crew, "_prepare_tools", None)
        if prepare is None:
            return

        def prepare_and_check(agent: Any, task: Any, tools: Any, *more: Any, **named: Any) -> Any:
            if not _is_agent(agent):
                self._refuse([f"the agent of type `{type(agent).__name__}`"])
            self._watch_agent(replaced, agent)
            offered = prepare(agent, task, tools, *more, **named)
            self._refuse(self._foreign(offered or ()))
            return offered

        _replace(replaced, self._crew, "_prepare_tools", prepare_and_check)

    def _watch_agent(self, replaced: ExitStack, agent: Any) -> None:
        create: Callable[..., Any] | None = getattr(agent, "create_agent_executor", None)
        if create is None or "create_agent_executor" in vars(agent):
            return

        def create_and_check(*given: Any, **named: Any) -> Any:
            created = create(*given, **named)
            executor = getattr(agent, "agent_executor", None)
            tools = [*(getattr(executor, "original_tools", None) or ()), *(getattr(executor, "tools", None) or ())]
            self._refuse(self._foreign(tools))
            return created

        _replace(replaced, agent, "create_agent_executor", create_and_check)

    def _offered(self) -> list[str]:
        """The names of foreign tools among those that the crew announces for its tasks."""
        prepare = getattr(self._crew, "_prepare_tools", None)
        if prepare is None:
            return ["a crew that cannot be asked for its tools"]
        outside: list[str] = []
        for task in self._crew.tasks:
            agent = task.agent
            if agent is not None:
                tools = list(task.tools or agent.tools or ())
                outside += self._foreign(prepare(agent, task, tools) or ())
        return outside

    def _process_features(self) -> list[str]:
        """Features of the process that make agents tools of each other."""
        process = getattr(self._crew, "process", None)
        if getattr(process, "value", process) == "hierarchical":
            return ["`process=hierarchical`"]
        several = len(self._crew.agents) > 1
        return [
            "`allow_delegation`" for agent in self._agents() if several and getattr(agent, "allow_delegation", None)
        ]

    def _foreign(self, tools: Iterable[Any]) -> list[str]:
        """The names of foreign tools; the others are connected to the bridge."""
        outside: list[str] = []
        for tool in tools:
            origin = getattr(tool, "_original_tool", None) or tool
            handle = getattr(origin, "bobcat_link", None)
            if isinstance(handle, BridgeHandle):
                handle.attach(self._exchange)
            elif type(origin).__name__ != _RESULT_READER or not type(origin).__module__.startswith("crewai."):
                outside.append(f"`{safe_text(str(getattr(tool, 'name', type(tool).__name__)))}`")
        return outside

    def _refuse(self, outside: list[str]) -> None:
        if outside:
            self._refused = ValueError(
                f"no policy sees these tools of the crew: {', '.join(dict.fromkeys(outside))}; give its agents "
                "crewai_tools(tools) instead, or pass allow_unmediated_tools=True"
            )
            raise self._refused

    def _owners(self) -> Iterator[tuple[Any, tuple[str, ...]]]:
        """Every part of a crew that can have tools, with the features that add more."""
        yield self._crew, _CREW_FEATURES
        for task in self._crew.tasks:
            yield task, _TASK_FEATURES
        for agent in self._agents():
            yield agent, _AGENT_FEATURES

    def _agents(self) -> list[Any]:
        found = [
            *self._crew.agents,
            *(task.agent for task in self._crew.tasks),
            getattr(self._crew, "manager_agent", None),
        ]
        return list({id(agent): agent for agent in found if agent is not None}.values())


def _is_agent(agent: Any) -> bool:
    """Return true if an agent is CrewAI's own, with accessible tools, not one of another framework."""
    import crewai

    return isinstance(agent, crewai.Agent)


def _replace(replaced: ExitStack, owner: Any, name: str, method: Callable[..., Any]) -> None:
    """Replace a method of one object, until `replaced` is left."""
    vars(owner)[name] = method
    replaced.callback(vars(owner).pop, name, None)
