"""CrewAI: a crew whose tools pass a `Guard`.

    crew = guard_crew(Crew(agents=[writer], tasks=[task]), guard)
    crew.kickoff()

The guard decides and records; the crew runs the tool. Hooks of CrewAI that raise are ignored and the tool runs; the
guard is therefore in the tools themselves. Its `on_approval` answers approvals. A fault of the guard is an error
message to the model, and the tool does not run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextvars import copy_context
from typing import Any

from bobcat.guard import Guard
from bobcat.guards.answers import answer_text
from bobcat.text.display import safe_text
from bobcat.text.json_text import format_exception
from bobcat.tools.function_schema import with_input_schema

try:
    from crewai import Agent, Crew
    from crewai.tools import BaseTool
    from crewai.utilities.agent_utils import parse_tools
    from pydantic import PrivateAttr
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this door needs `pip install 'bobcat[crewai]'`", name=error.name) from error

_UNSEEN = ("a2a",)
"""Features of an agent that act without a tool."""


# Any throughout: arguments and results of tools have any type, and CrewAI's own types are models with extra fields.
def guard_crew(crew: Crew, guard: Guard) -> Crew:
    """Put `guard` in front of every tool of a crew; returns the crew.

    These are the tools of its agents and tasks, and those that CrewAI adds for delegation, memory, skills, files, apps
    and MCP, each under its own name; also in copies of the crew, and when one of its agents runs alone. Raises
    `TypeError` for anything but a `Crew`, and `ValueError` for a crew with agents of other frameworks or with `a2a`,
    whose acts no guard sees.
    """
    if not isinstance(crew, Crew):
        raise TypeError(f"crew must be a Crew, got {type(crew).__name__}")
    agents = [*crew.agents, *(task.agent for task in crew.tasks), crew.manager_agent]
    for agent in {id(each): each for each in agents if each is not None}.values():
        _guard_agent(agent, guard)
    prepare: Callable[..., Any] = crew._prepare_tools

    def prepare_guarded(agent: Any, *given: Any, **named: Any) -> Any:
        _guard_agent(agent, guard)  # CrewAI makes the manager of a hierarchical process when it starts
        return _guarded(prepare(agent, *given, **named), guard)

    copy: Callable[[], Crew] = crew.copy

    vars(crew)["_prepare_tools"] = prepare_guarded
    vars(crew)["copy"] = lambda: guard_crew(copy(), guard)  # `kickoff_for_each`, `train` and `test` run copies
    return crew


def _guard_agent(agent: Any, guard: Guard) -> None:
    """Wrap the tools of each executor that an agent makes, after CrewAI's additions."""
    if not isinstance(agent, Agent):
        raise ValueError(f"the guard does not see the tools of an agent of type `{type(agent).__name__}`")
    unseen = [name for name in _UNSEEN if getattr(agent, name, None)]
    if unseen:
        raise ValueError(f"the guard does not see what the agent does by `{unseen[0]}`")
    if "create_agent_executor" in vars(agent):
        return
    create: Callable[..., Any] = agent.create_agent_executor
    prepare: Callable[..., Any] = agent._prepare_kickoff

    def create_guarded(*given: Any, **named: Any) -> None:
        create(*given, **named)
        _guard_executor(agent.agent_executor, guard)

    def prepare_guarded(*given: Any, **named: Any) -> Any:  # of a run of the agent alone
        executor, inputs, about, _ = prepare(*given, **named)
        _guard_executor(executor, guard)
        return executor, inputs, about, executor.tools

    vars(agent)["create_agent_executor"] = create_guarded
    vars(agent)["_prepare_kickoff"] = prepare_guarded


def _guard_executor(executor: Any, guard: Guard) -> None:
    executor.original_tools = _guarded(executor.original_tools, guard)
    executor.tools = parse_tools(executor.original_tools)


def _guarded(tools: Iterable[Any] | None, guard: Guard) -> list[GuardedTool]:
    return [each if isinstance(each, GuardedTool) else GuardedTool.around(each, guard) for each in tools or ()]


class GuardedTool(BaseTool):
    """A tool whose calls are submitted to a guard, which runs the tool that it takes the place of."""

    _tool: Any = PrivateAttr()
    _guard: Guard = PrivateAttr()

    @classmethod
    def around(cls, tool: BaseTool, guard: Guard) -> GuardedTool:
        """Make the guarded form of a tool. Raises `TypeError` for anything but a tool of CrewAI."""
        if not isinstance(tool, BaseTool):
            raise TypeError(f"`{safe_text(str(getattr(tool, 'name', tool)))}` is not a tool of CrewAI")
        made = cls(
            name=tool.name,
            description=tool.description,
            args_schema=tool.args_schema,
            result_as_answer=tool.result_as_answer,
            cache_function=_never,
        )
        made._tool, made._guard = tool, guard
        return made

    def _run(self, **args: Any) -> Any:
        """Submit a call from a thread that is not the guard's event loop."""
        context, results = copy_context(), list[Any]()

        def run(**effective: Any) -> Any:
            results.append(context.run(self._tool.run, **effective))
            return results[-1]

        try:
            outcome = self._guard.submit_sync(self.name, args, run=with_input_schema(run, self._schema()))
        except Exception as error:
            return f"[failed] {format_exception(error)}"
        return results[-1] if outcome.ok and results else answer_text(outcome)

    async def _arun(self, **args: Any) -> Any:
        """Submit a call from an event loop."""
        return await asyncio.to_thread(self._run, **args)

    def _schema(self) -> dict[str, Any]:
        return dict(self.args_schema.model_json_schema())


def _never(_arguments: Any = None, _result: Any = None) -> bool:
    """Keep CrewAI from answering a call from its cache."""
    return False
