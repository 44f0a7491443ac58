"""LangGraph: a `ToolNode` whose calls pass a `Guard`.

    node = guarded_tool_node([search, pay], guard)
    graph.add_node("tools", node)

The guard decides and records; the node runs the tool. A call that needs an approval interrupts the graph, which is
resumed with `Command(resume={"granted": True, "approver": "alice"})`. A fault of the guard is an error message to the
model, and the tool does not run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import copy_context
from typing import Any

from bobcat.guard import Guard, Outcome
from bobcat.guards.answers import GivenAnswers, ToolError, answer_text, question
from bobcat.text.json_text import json_text

try:
    from langchain_core.messages import ToolMessage
    from langgraph.prebuilt import ToolNode
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.types import interrupt
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this door needs `pip install 'bobcat[langgraph]'`", name=error.name) from error

# Any: what tools of LangChain return: messages, commands, lists of both.
Execute = Callable[[ToolCallRequest], Any]
AsyncExecute = Callable[[ToolCallRequest], Awaitable[Any]]


def guarded_tool_node(tools: Sequence[Any], guard: Guard, *, interrupts: bool = True, **options: Any) -> ToolNode:
    """Build a `ToolNode` over `tools` with `guard` in front; `options` are the other keywords of `ToolNode`.

    Without `interrupts`, the guard's `on_approval` answers approvals. A call of a thread with a checkpointer is
    submitted under a key: a node that LangGraph runs again after an interruption does not repeat its other calls.
    """
    if {"wrap_tool_call", "awrap_tool_call"} & options.keys():
        raise TypeError("the guard is the wrapper of the calls: another one could run a tool without it")
    door = ToolCallGuard(guard, interrupts=interrupts)
    return ToolNode(tools, wrap_tool_call=door.wrap_tool_call, awrap_tool_call=door.awrap_tool_call, **options)


class ToolCallGuard:
    """The wrappers of tool calls, for a `ToolNode` that is made elsewhere: pass both of them."""

    def __init__(self, guard: Guard, *, interrupts: bool = True) -> None:
        self._guard = guard
        self._interrupts = interrupts

    async def awrap_tool_call(self, request: ToolCallRequest, execute: AsyncExecute) -> Any:
        """Decide a call, and execute it if that is permitted."""
        call, messages = request.tool_call, list[Any]()

        async def run(**args: Any) -> Any:
            return _value(messages, await execute(_with_args(request, args)))

        if request.tool is None:
            return _message(call, f"[unknown] unknown tool: {call['name']!r}")
        options = _options(request)
        if self._interrupts:
            decided = await self._guard.check(call["name"], call["args"], run=run)
            options |= self._asked(decided)
        # LangGraph cancels the calls beside one that interrupts. What has begun ends, and is not begun again.
        submitted = asyncio.ensure_future(self._guard.submit(call["name"], call["args"], run=run, **options))
        return _answer(call, await asyncio.shield(submitted), messages)

    def wrap_tool_call(self, request: ToolCallRequest, execute: Execute) -> Any:
        """`awrap_tool_call` for graphs that are invoked synchronously."""
        call, messages, context = request.tool_call, list[Any](), copy_context()

        def run(**args: Any) -> Any:
            return _value(messages, context.run(execute, _with_args(request, args)))

        if request.tool is None:
            return _message(call, f"[unknown] unknown tool: {call['name']!r}")
        options = _options(request)
        if self._interrupts:
            options |= self._asked(self._guard.check_sync(call["name"], call["args"], run=run))
        return _answer(call, self._guard.submit_sync(call["name"], call["args"], run=run, **options), messages)

    def _asked(self, decided: Outcome) -> dict[str, Any]:
        """Interrupt the graph for a call that needs an approval; return the answer as a handler."""
        if decided.status != "waiting":
            return {}
        return {"on_approval": GivenAnswers(interrupt(question(decided)))}


def _options(request: ToolCallRequest) -> dict[str, Any]:
    config = getattr(request.runtime, "config", None) or {}
    place = config.get("configurable") or {}
    thread, call_id = place.get("thread_id"), request.tool_call.get("id")
    if thread is None or not call_id:
        return {}
    return {"key": json_text(["langgraph", str(thread), str(place.get("checkpoint_ns", "")), call_id])}


def _with_args(request: ToolCallRequest, args: dict[str, Any]) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": args})


def _value(messages: list[Any], found: Any) -> Any:
    """The text of a tool's message for the record. The message itself goes to the graph. Raises `ToolError`."""
    messages.append(found)
    if not isinstance(found, ToolMessage):
        return found
    if found.status == "error":
        raise ToolError(str(found.content))
    return found.content


def _answer(call: Any, outcome: Outcome, messages: list[Any]) -> Any:
    if messages and outcome.status in ("ok", "failed"):
        return messages[-1]
    return _message(call, answer_text(outcome), status="success" if outcome.ok else "error")


def _message(call: Any, text: str, status: str = "error") -> ToolMessage:
    return ToolMessage(content=text, name=call["name"], tool_call_id=call["id"], status=status)
