"""Strands Agents: an agent whose tool calls pass a `Guard`.

    agent = Agent(model=model, tools=[search, pay])
    guard_agent(agent, guard)

The guard decides and records; the agent runs the tool. A call that needs an approval interrupts the agent, which is
resumed with the answer `{"granted": True, "approver": "alice"}`. A fault of the guard is an error message to the
model, and the tool does not run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from bobcat.guard import Guard
from bobcat.guards.answers import GivenAnswers, answer_text, question
from bobcat.guards.split_call import SplitCall, decide
from bobcat.text.json_text import format_exception, json_text

try:
    from strands import Agent
    from strands.interrupt import InterruptException
    from strands.middleware import ExecuteToolContext, ExecuteToolStage, ToolResultEvent
    from strands.types._events import ToolInterruptEvent
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this door needs `pip install 'bobcat[strands]'`", name=error.name) from error

INTERRUPT = "bobcat"
"""Name of the interrupts of this door."""
INTERRUPTED = "the tool interrupted the agent"
# Any: events of Strands.
Next = Callable[[ExecuteToolContext], AsyncIterator[Any]]


def guard_agent(agent: Agent, guard: Guard, *, interrupts: bool = True) -> Agent:
    """Put `guard` in front of every tool call of an agent; returns the agent. Direct calls (`agent.tool.NAME`) count.

    Without `interrupts`, the guard's `on_approval` answers approvals. Raises `TypeError` for anything but an `Agent`,
    and `ValueError` for an agent that has a guard. Agents that the agent calls need their own.
    """
    if not isinstance(agent, Agent):
        raise TypeError(f"agent must be an Agent of Strands, got {type(agent).__name__}")
    if any(isinstance(each.handler, _Door) for each in _handlers(agent)):
        raise ValueError("the agent has a guard already")
    agent.add_middleware(ExecuteToolStage, _Door(guard, interrupts=interrupts))
    return agent


class _Door:
    """The middleware of tool calls. It must be the innermost: a later one could change a call that was decided."""

    def __init__(self, guard: Guard, *, interrupts: bool) -> None:
        self._guard = guard
        self._interrupts = interrupts

    async def __call__(self, context: ExecuteToolContext, execute: Next) -> AsyncIterator[Any]:
        """Decide a call, and execute it if that is permitted."""
        try:
            call = await self._begin(context)
        except InterruptException:
            raise
        except Exception as error:
            yield _result(context, f"[failed] {format_exception(error)}")
            return
        if isinstance(call, str):
            yield _result(context, call)
            return
        async for event in _executed(context, call, execute):
            yield event

    async def _begin(self, context: ExecuteToolContext) -> SplitCall | str:
        """The call that may run, or the answer to the model."""
        if not self._is_innermost(context.agent):
            raise RuntimeError("a middleware that was added after the guard could change the call")
        name, args = context.tool_use["name"], context.tool_use["input"]
        if context.tool is None:
            return f"[unknown] unknown tool: {name!r}"
        schema = context.tool.tool_spec["inputSchema"].get("json", {})
        options: dict[str, Any] = {}
        if self._interrupts:
            decided = await decide(self._guard, name, args, schema=schema)
            if decided.status == "waiting":
                answer = context.interrupt(INTERRUPT, reason=question(decided)).response
                options["on_approval"] = GivenAnswers(answer)
        call = await SplitCall.begin(self._guard, name, args, schema=schema, **options)
        return call if call.outcome is None else answer_text(call.outcome)

    def _is_innermost(self, agent: Any) -> bool:
        handlers = [each for each in _handlers(agent) if each.phase == "wrap"]
        return bool(handlers) and handlers[-1].handler is self


async def _executed(context: ExecuteToolContext, call: SplitCall, execute: Next) -> AsyncIterator[Any]:
    """Execute a permitted call with its effective arguments, and report its outcome to the guard."""
    result: ToolResultEvent | None = None
    try:
        tool_use = {**context.tool_use, "input": call.args}
        async for event in execute(context.replace(tool_use=tool_use)):
            if isinstance(event, ToolResultEvent):
                result = event
            elif isinstance(event, ToolInterruptEvent):  # the agent does not come back to this generator
                await call.end(INTERRUPTED, failed=True)
            yield event
        if result is not None:
            await call.end(_text(result.tool_result), failed=result.tool_result["status"] == "error")
    except InterruptException:
        await call.end(INTERRUPTED, failed=True)
        raise
    finally:
        await call.abandon()


def _text(result: Any) -> str:
    parts = [each["text"] if set(each) == {"text"} else json_text(each) for each in result["content"]]
    return "\n".join(parts)


def _result(context: ExecuteToolContext, text: str) -> ToolResultEvent:
    content = [{"text": text}]
    return ToolResultEvent({"toolUseId": context.tool_use["toolUseId"], "status": "error", "content": content})


def _handlers(agent: Any) -> list[Any]:
    # The registry has no public way to read it. Without it the guard would not know its place: an error, and no call.
    found: list[Any] = agent._middleware_registry._handlers.get(ExecuteToolStage, [])
    return found
