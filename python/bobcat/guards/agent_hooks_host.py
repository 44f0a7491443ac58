"""agent-hooks (AGENT-HOOKS-0.1): `run_agent` as a host, whose interceptors see each model and tool call.

    emitter = InterceptionEmitter().register(TheirPolicy())
    result = await run_intercepted(agent, "tidy up", emitter=emitter, tools=TOOLS, policy=POLICY)

The policy decides first; interceptors see the calls that it permits, directly before they run. Arguments that an
interceptor changes are decided again, and run only if the policy allows them as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from bobcat.bundle import Policy
from bobcat.errors import ArgumentError
from bobcat.executors import Executor, inline_executor
from bobcat.model.agent import Agent
from bobcat.model.decision import ActionRequest, Verdict
from bobcat.model.run import ActionResult, FinalAnswer, Message, RunResult, ToolCall, ToolDef
from bobcat.runtime.loop import run_agent
from bobcat.runtime.mediator import with_args
from bobcat.text.json_text import is_exact, json_text
from bobcat.tools.signature import bind_arguments, supplied_parameters
from bobcat.tools.toolset import ToolSet

try:
    from agent_hooks import AgentContextBuilder, InterceptionBlocked, InterceptionEmitter
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this module needs `pip install 'bobcat[agent-hooks]'`", name=error.name) from error

Json = Any  # a JSON value


async def run_intercepted(
    agent: Agent,
    task: str,
    *,
    emitter: InterceptionEmitter,
    tools: ToolSet,
    policy: Policy,
    executor: Executor | None = None,
    agent_id: str = "bobcat",
    model_id: str = "unknown",
    session_id: str | None = None,
    **options: Any,
) -> RunResult:
    """Run an agent as `run_agent` does, with the interceptors of `emitter` at all eight points of the contract.

    `options` are the other keywords of `run_agent`. A deny at `pre_tool_call` or `post_tool_call` is an error for the
    model, and the run goes on. Elsewhere it ends the run: raises `InterceptionBlocked`.
    """
    host = _Host(agent, emitter, policy, model_id)
    host.contexts = AgentContextBuilder(agent_id=agent_id, framework="bobcat", session_id=session_id or uuid4().hex)
    host.inner = executor or inline_executor()
    reason = "error"
    try:
        await emitter.emit(host.contexts.agent_startup(tools_registered=sorted(tools.tools)))
        context = host.contexts.input(content=task)
        await emitter.emit(context)
        task = context["input"]["content"]
        result = await run_agent(host, task, tools=tools, policy=policy, executor=host.execute, **options)
        if host.blocked is not None:
            raise host.blocked
        reason = "completed" if result.outcome == "succeeded" else "error"
        return result
    finally:
        await emitter.emit_unchecked(host.contexts.agent_shutdown(reason=reason))


class _Host:
    """The agent and the executor of an intercepted run."""

    contexts: AgentContextBuilder
    inner: Executor

    def __init__(self, agent: Agent, emitter: InterceptionEmitter, policy: Policy, model_id: str) -> None:
        self._agent = agent
        self._emitter = emitter
        self._policy = policy
        self._model_id = model_id
        self._proposed: list[ToolCall] = []
        self.identity = f"{type(agent).__module__}.{type(agent).__qualname__}"
        """In place of this class's name, in the run's binding."""
        self.blocked: InterceptionBlocked | None = None

    async def step(self, conversation: Sequence[Message], /) -> FinalAnswer | Sequence[ToolCall]:
        """Ask the agent, with the model call and the answer intercepted."""
        try:
            context = self.contexts.pre_model_call(
                model_id=self._model_id, messages=[_message_json(each) for each in conversation]
            )
            await self._emitter.emit(context)
            reply = await self._agent.step(_messages(context["messages"], conversation))
            return await self._intercepted(reply)
        except InterceptionBlocked as blocked:
            self.blocked = blocked
            raise

    async def execute(self, request: ActionRequest, tool: ToolDef) -> ActionResult:
        """Run one permitted call between its interceptions."""
        try:
            return await self._execute(request, tool)
        except InterceptionBlocked as blocked:
            verdict = blocked.result.verdict
            return ActionResult(False, error=f"blocked: {verdict.message or verdict.reason or 'no reason given'}")

    async def _intercepted(self, reply: ToolCall | FinalAnswer | Sequence[ToolCall]) -> FinalAnswer | list[ToolCall]:
        if isinstance(reply, FinalAnswer):
            response = await self._response(reply.text, [], "stop")
            if not response["tool_calls"]:
                context = self.contexts.output(content=response["content"])
                await self._emitter.emit(context)
                return FinalAnswer(context["output"]["content"], reply.usage)
            calls = [ToolCall("", {}, usage=reply.usage)]
        else:
            calls = [reply] if isinstance(reply, ToolCall) else list(reply)
            proposed = [{"id": each.call_id, "name": each.tool, "args": dict(each.args)} for each in calls]
            response = await self._response(calls[0].text or None, proposed, "tool_calls")
        self._proposed = [_tool_call(each, calls) for each in response["tool_calls"]]
        return self._proposed[:]

    async def _response(self, content: str | None, calls: list[Json], finish_reason: str) -> dict[str, Json]:
        context = self.contexts.post_model_call(
            model_id=self._model_id, content=content, tool_calls=calls, finish_reason=finish_reason
        )
        await self._emitter.emit(context)
        response: dict[str, Json] = context["response"]
        return response

    async def _execute(self, request: ActionRequest, tool: ToolDef) -> ActionResult:
        call_id = self._call_id(request)
        supplied = {name: request.args[name] for name in supplied_parameters(tool) if name in request.args}
        request = with_args(request, {name: each for name, each in request.args.items() if name not in supplied})
        context = self.contexts.pre_tool_call(call_id=call_id, name=request.tool, args=_json(request.args))
        await self._emitter.emit(context)
        try:
            request = self._decided_again(request, tool, context["tool_call"]["args"])
        except (ArgumentError, PermissionError) as refusal:
            return ActionResult(False, error=f"blocked: an interceptor changed the arguments: {refusal}")
        result = await self.inner(with_args(request, {**request.args, **supplied}), tool)
        value = _json(result.value if result.ok else result.error)
        after = self.contexts.post_tool_call(
            call_id=call_id,
            name=request.tool,
            args=_json(request.args),
            value=value,
            is_error=not result.ok,
            duration_ms=result.duration_ms,
        )
        await self._emitter.emit(after)
        effective = after["tool_result"]["value"]
        if json_text(effective) == json_text(value):
            return result
        if result.ok:
            return ActionResult(True, effective, None, result.duration_ms)
        return type(result)(False, None, effective if isinstance(effective, str) else json_text(effective))

    def _decided_again(self, request: ActionRequest, tool: ToolDef, args: Mapping[str, Json]) -> ActionRequest:
        """The request with the arguments that the interceptors left. Raises `PermissionError` if they may not run."""
        if json_text(args) == json_text(request.args):
            return request
        changed = with_args(request, bind_arguments(tool, args))
        decision = self._policy.evaluate(changed)
        if decision.verdict is not Verdict.ALLOW:
            raise PermissionError(f"the policy does not allow them: {decision.reason or decision.verdict}")
        return changed

    def _call_id(self, request: ActionRequest) -> str:
        for at, each in enumerate(self._proposed):
            if each.tool == request.tool:
                del self._proposed[at]
                return each.call_id
        return uuid4().hex


def _json(value: object) -> Json:
    """A JSON value of a tool's arguments or result, as the model would see it."""
    return json.loads(json_text(value)) if not is_exact(value) or isinstance(value, Mapping) else value


def _message_json(message: Message) -> dict[str, Json]:
    found = {"role": message.role, "content": message.content, "name": message.name, "id": message.tool_call_id}
    return {name: value for name, value in found.items() if value is not None}


def _messages(listed: list[dict[str, Json]], conversation: Sequence[Message]) -> Sequence[Message]:
    """The messages that the interceptors left: those of the conversation where they are unchanged."""
    known = {json_text(_message_json(each)): each for each in conversation}
    return [
        known.get(json_text(each)) or Message(each["role"], str(each["content"]), each.get("name"), each.get("id"))
        for each in listed
    ]


def _tool_call(given: dict[str, Json], calls: list[ToolCall]) -> ToolCall:
    """The call that the interceptors left; the proposed one if it is unchanged."""
    for each in calls:
        if (
            each.call_id == given["id"]
            and each.tool == given["name"]
            and json_text(each.args) == json_text(given["args"])
        ):
            return each
    return ToolCall(given["name"], given["args"], given["id"], calls[0].usage)
