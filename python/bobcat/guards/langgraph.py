"""LangGraph: a `ToolNode` whose calls pass a `Guard`.

    node = guarded_tool_node([search, pay], guard)
    graph.add_node("tools", node)

The guard decides and records; the node runs the tool. A call that needs an approval interrupts the graph, which is
resumed with `Command(resume={"granted": True, "approver": "alice"})`. A fault of the guard is an error message to the
model, and the tool does not run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar, copy_context
from typing import Any

from bobcat.guard import Guard, Outcome
from bobcat.guards.answers import GivenAnswers, ToolError, answer_text, question, undecided
from bobcat.text.json_text import json_text

try:
    from langchain_core.messages import ToolMessage
    from langchain_core.runnables import RunnableConfig
    from langgraph.prebuilt import ToolNode
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.runtime import Runtime
    from langgraph.types import interrupt
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this door needs `pip install 'bobcat[langgraph]'`", name=error.name) from error

# Any: what tools of LangChain return: messages, commands, lists of both.
Execute = Callable[[ToolCallRequest], Any]
AsyncExecute = Callable[[ToolCallRequest], Awaitable[Any]]

NOT_ASKED = object()
"""In place of an answer, for a call that needs no approval."""
_ANSWERS: ContextVar[Mapping[str, Any]] = ContextVar("bobcat_answers", default={})  # noqa: B039 - never changed
"""The answers to the approvals of the node that runs, by call."""


def guarded_tool_node(tools: Sequence[Any], guard: Guard, *, interrupts: bool = True, **options: Any) -> ToolNode:
    """Build a `ToolNode` over `tools` with `guard` in front; `options` are the other keywords of `ToolNode`.

    Without `interrupts`, the guard's `on_approval` answers approvals. A call of a thread with a checkpointer is
    submitted under a key: a node that LangGraph runs again after an interruption does not repeat its other calls.
    """
    if {"wrap_tool_call", "awrap_tool_call"} & options.keys():
        raise TypeError("the guard is the wrapper of the calls: another one could run a tool without it")
    return _GuardedToolNode(tools, guard, interrupts=interrupts, **options)


class ToolCallGuard:
    """The wrappers of tool calls. A call that needs an approval interrupts its task, which must have no other call."""

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
        options = _options(request) | await self._approvals(request)
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
        options = _options(request) | self._approvals_sync(request)
        return _answer(call, self._guard.submit_sync(call["name"], call["args"], run=run, **options), messages)

    async def _approvals(self, request: ToolCallRequest) -> dict[str, Any]:
        """The handler with the answer for a call that needs an approval."""
        if not self._interrupts:
            return {}
        _check_alone(request)
        return _given(await self.ask(request.tool_call))

    def _approvals_sync(self, request: ToolCallRequest) -> dict[str, Any]:
        if not self._interrupts:
            return {}
        _check_alone(request)
        return _given(self.ask_sync(request.tool_call))

    async def ask(self, call: Any) -> Any:
        """Interrupt the task for a call that needs an approval.

        Returns the answer, `NOT_ASKED`, or the error of a guard that cannot decide.
        """
        try:
            decided = await self._guard.check(call["name"], call["args"], run=undecided)
        except Exception as error:
            return error
        return interrupt(question(decided)) if decided.status == "waiting" else NOT_ASKED

    def ask_sync(self, call: Any) -> Any:
        """`ask` for graphs that are invoked synchronously."""
        try:
            decided = self._guard.check_sync(call["name"], call["args"], run=undecided)
        except Exception as error:
            return error
        return interrupt(question(decided)) if decided.status == "waiting" else NOT_ASKED


class _NodeGuard(ToolCallGuard):
    """The wrappers of a node that has asked about all of its calls before."""

    async def _approvals(self, request: ToolCallRequest) -> dict[str, Any]:
        return self._approvals_sync(request)

    def _approvals_sync(self, request: ToolCallRequest) -> dict[str, Any]:
        return _given(_ANSWERS.get().get(_identity(request.tool_call), NOT_ASKED)) if self._interrupts else {}


class _GuardedToolNode(ToolNode):
    """Asks about its calls in their order, before the first one runs.

    LangGraph matches answers to the interruptions of a task by their order. Calls that ran in parallel and
    interrupted by themselves could get each other's answers.
    """

    def __init__(self, tools: Sequence[Any], guard: Guard, *, interrupts: bool, **options: Any) -> None:
        door = _NodeGuard(guard, interrupts=interrupts)
        super().__init__(tools, wrap_tool_call=door.wrap_tool_call, awrap_tool_call=door.awrap_tool_call, **options)
        self._door = ToolCallGuard(guard) if interrupts else None

    def _func(self, input: Any, config: RunnableConfig, runtime: Runtime[Any]) -> Any:
        answers = {_identity(call): self._door.ask_sync(call) for call in self._calls(input)} if self._door else {}
        token = _ANSWERS.set(answers)
        try:
            return super()._func(input, config, runtime)
        finally:
            _ANSWERS.reset(token)

    async def _afunc(self, input: Any, config: RunnableConfig, runtime: Runtime[Any]) -> Any:
        answers = {_identity(call): await self._door.ask(call) for call in self._calls(input)} if self._door else {}
        token = _ANSWERS.set(answers)
        try:
            return await super()._afunc(input, config, runtime)
        finally:
            _ANSWERS.reset(token)

    def _calls(self, input: Any) -> list[Any]:
        return [call for call in self._parse_input(input)[0] if call["name"] in self.tools_by_name]


def _check_alone(request: ToolCallRequest) -> None:
    """Raise `RuntimeError` where several calls share a task, and could get each other's answers."""
    place = (getattr(request.runtime, "config", None) or {}).get("metadata", {}).get("langgraph_path") or ("",)
    if place[0] == "__pregel_push":  # a task that was sent with one call
        return
    state = request.state
    messages = state.get("messages", []) if isinstance(state, Mapping) else getattr(state, "messages", [])
    called = [each for each in messages if getattr(each, "tool_calls", None)]
    if called and len(called[-1].tool_calls) > 1:
        raise RuntimeError("several calls in one task cannot be interrupted: use `guarded_tool_node`")


def _identity(call: Any) -> str:
    return json_text([call.get("id"), call["name"], call["args"]])


def _given(answer: Any) -> dict[str, Any]:
    if isinstance(answer, Exception):
        raise answer
    return {} if answer is NOT_ASKED else {"on_approval": GivenAnswers(answer)}


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
