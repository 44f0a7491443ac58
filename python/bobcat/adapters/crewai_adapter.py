"""A CrewAI crew as an agent, with its tools behind the policy.

    tools = ToolSet.from_functions(read_file, write_file)
    writer = crewai.Agent(role="writer", goal="...", backstory="...", tools=crewai_tools(tools))
    crew = crewai.Crew(agents=[writer], tasks=[...])
    async with CrewAIAgent(crew) as agent:
        await run_agent(agent, "tidy the notes", tools=tools, policy=policy)

Needs `pip install 'bobcat[crewai]'`. A crew orchestrates itself: it runs in a thread, and each call of a tool from
`crewai_tools` waits there while the run loop evaluates and executes it.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from bobcat.adapters.client_agent import sdk
from bobcat.adapters.crew_bridge import BridgeHandle, CrewBridge
from bobcat.adapters.crew_tools import Inspection
from bobcat.adapters.token_counts import counts, without_cached
from bobcat.aio.closing import Closing
from bobcat.model.run import FinalAnswer, Message, ToolCall, Usage
from bobcat.text.json_text import safe_str
from bobcat.tools.schema import tooldef_to_json_schema
from bobcat.tools.toolset import ToolSet

__all__ = ["CrewAIAgent", "crewai_tools"]


# Any throughout: crews, agents, tasks and tools are CrewAI's.
def crewai_tools(tools: ToolSet) -> list[Any]:
    """Create the tools of a set for the agents and tasks of a crew. They work while a `CrewAIAgent` runs that crew."""
    base = sdk("crewai.tools", "crewai_tools").BaseTool
    handle = BridgeHandle()

    class PolicyTool(base):  # type: ignore[valid-type, misc]  # the base is known when CrewAI is imported
        """A tool that submits its calls to the run loop."""

        bobcat_link: Any = None
        accepts: dict[str, Any]

        def _run(self, **kwargs: Any) -> str:
            return handle.call(self.name, _without_defaults(kwargs, self.accepts))

        async def _arun(self, **kwargs: Any) -> str:
            return await asyncio.to_thread(self._run, **kwargs)

    found: list[Any] = []
    for definition in tools.tools.values():
        schema = tooldef_to_json_schema(definition)
        found.append(
            PolicyTool(
                name=definition.name,
                description=definition.description or f"Tool {definition.name}",
                args_schema={"title": f"{definition.name} arguments", **schema},
                cache_function=_never,
                bobcat_link=handle,
                accepts=schema,
            )
        )
    return found


class CrewAIAgent(Closing):
    """Runs a crew once, and answers with its result from then on.

    A crew with tools that no policy sees is refused, unless `allow_unmediated_tools` permits it: such tools run without
    a decision, an audit event or a journal record. They are the agents' and the tasks' own, and those that CrewAI adds
    for memory, skills, delegation, the hierarchical process, code execution, images, files, apps, MCP and A2A. The
    crew's tools are checked when the agent is created (`ValueError`), and again for each task before any of them can
    run: then the run fails. `inputs` go to `kickoff`.

    Ending the run ends the crew at its next tool call; a thread cannot be ended from outside. Leave the agent with
    `async with` or `aclose`, so that the crew does not wait for a run that is over.
    """

    def __init__(
        self, crew: Any, *, inputs: Mapping[str, Any] | None = None, allow_unmediated_tools: bool = False
    ) -> None:
        sdk("crewai", "CrewAIAgent")
        self._crew = crew
        self._inputs = dict(inputs) if inputs is not None else None
        self._bridge = CrewBridge()
        self._inspection = Inspection(crew, self._bridge, lenient=allow_unmediated_tools)
        self._started = False
        self._check()

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer | tuple[ToolCall, ...]:
        """The tool calls that the crew waits for, or its result. Raises the exceptions of `kickoff`."""
        if not self._started:
            self._check()
            self._started = True
            self._bridge.remember(conversation)
            context = contextvars.copy_context()
            threading.Thread(target=context.run, args=(self._kickoff,), name="crewai", daemon=True).start()
        proposed = await self._bridge.next(conversation)
        if isinstance(proposed, FinalAnswer):
            return proposed
        return proposed[0] if len(proposed) == 1 else proposed

    async def aclose(self) -> None:
        """Refuse further tool calls."""
        self._bridge.close()

    def _kickoff(self) -> None:
        try:
            with self._inspection.while_running():
                result = self._crew.kickoff() if self._inputs is None else self._crew.kickoff(inputs=self._inputs)
            answer = FinalAnswer(safe_str(result), _usage(result))
        except BaseException as error:  # any exception must reach the run
            self._bridge.finish(error)
        else:
            self._bridge.finish(answer)

    def _check(self) -> None:
        if getattr(self._crew, "stream", False):
            raise ValueError("a streaming crew has no result to wait for; build the crew with stream=False")
        self._inspection.check()


def _without_defaults(arguments: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without those that CrewAI added: it passes None for an omitted optional argument."""
    required = schema.get("required", ())
    properties = schema.get("properties", {})
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or name in required or properties.get(name, {}).get("default", ...) is None
    }


def _usage(result: Any) -> Usage | None:
    reported = getattr(result, "token_usage", None)
    if reported is None:
        return None
    total, output, cached = counts(reported, "prompt_tokens", "completion_tokens", "cached_prompt_tokens")
    return Usage(without_cached(total, cached), output, cached)


def _never(_arguments: Any = None, _result: Any = None) -> bool:
    """Keep CrewAI from answering a call from its cache: the policy must see it."""
    return False
