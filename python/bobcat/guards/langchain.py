"""LangChain 1.x: an agent whose tool calls pass a `Guard`, by a middleware.

    agent = guarded_agent(model, [search, pay], guard=guard, checkpointer=InMemorySaver())

The guard decides and records; the agent runs the tool. A call that needs an approval interrupts the agent, which is
resumed with `Command(resume={interrupt.id: {"granted": True, "approver": "alice"}})`. Tools that the model's provider
executes are refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from bobcat.guard import Guard

try:
    from langchain.agents import create_agent
    from langchain.agents.middleware import AgentMiddleware

    from bobcat.guards.langgraph import ToolCallGuard
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this door needs `pip install 'bobcat[langchain]'`", name=error.name) from error

Handler = Callable[[Any], Any]  # Any: requests, messages and commands of LangChain
AsyncHandler = Callable[[Any], Awaitable[Any]]


def guarded_agent(
    model: Any,
    tools: Sequence[Any] = (),
    *,
    guard: Guard,
    middleware: Sequence[Any] = (),
    interrupts: bool = True,
    **options: Any,  # Any: the other keywords of `create_agent`
) -> Any:
    """Build an agent with `create_agent`, the guard behind all other middleware; its tools are guarded as well.

    Without `interrupts`, the guard's `on_approval` answers approvals. A call of a thread with a checkpointer is
    submitted under a key, so that an agent that continues does not repeat it.
    """
    _check(tools)
    if any(isinstance(each, GuardMiddleware) for each in middleware):
        raise TypeError("the guard is the last middleware already")
    inner = GuardMiddleware(guard, interrupts=interrupts)
    return create_agent(model, list(tools), middleware=[*middleware, inner], **options)


class GuardMiddleware(AgentMiddleware[Any, Any]):
    """The middleware, for an agent that is made elsewhere. It must be the last: others could change a call after it."""

    def __init__(self, guard: Guard, *, interrupts: bool = True) -> None:
        if not isinstance(guard, Guard):
            raise TypeError(f"guard must be a Guard, got {type(guard).__name__}")
        super().__init__()
        self._door = ToolCallGuard(guard, interrupts=interrupts)

    def wrap_tool_call(self, request: Any, handler: Handler) -> Any:
        """Decide a call, and execute it if that is permitted."""
        return self._door.wrap_tool_call(request, handler)

    async def awrap_tool_call(self, request: Any, handler: AsyncHandler) -> Any:
        """Decide a call, and execute it if that is permitted."""
        return await self._door.awrap_tool_call(request, handler)

    def wrap_model_call(self, request: Any, handler: Handler) -> Any:
        """Refuse a request with tools that the model's provider would execute."""
        _check(request.tools)
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: AsyncHandler) -> Any:
        """Refuse a request with tools that the model's provider would execute."""
        _check(request.tools)
        return await handler(request)


def _check(tools: Sequence[Any]) -> None:
    for each in tools:
        if isinstance(each, dict):
            name = each.get("name") or each.get("type")
            raise TypeError(f"tool {name!r} cannot be guarded: the model's provider executes it")
