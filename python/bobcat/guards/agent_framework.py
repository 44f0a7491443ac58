"""Microsoft Agent Framework: middleware that puts a `Guard` in front of the functions of an agent.

    agent = Agent(client=client, tools=[search, pay], middleware=guard_middleware(guard))

The guard decides and records; the framework runs the function. A call that needs an approval is an approval request of
the framework; `approve(request, answer)` makes the response. A fault of the guard is an error for the model, and the
function does not run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import uuid4

from bobcat.guard import Guard
from bobcat.guards.answers import GivenAnswers, answer_text, question
from bobcat.guards.split_call import SplitCall, decide
from bobcat.text.json_text import format_exception, json_text, safe_str

try:
    from agent_framework import (
        ChatContext,
        ChatMiddleware,
        Content,
        FunctionInvocationContext,
        FunctionMiddleware,
        FunctionTool,
        MiddlewareTermination,
    )

    # The names under which the framework keeps the arguments that must not change any more. Without them this door
    # could not notice another middleware that changes a decided call.
    from agent_framework._tools import (
        _APPROVED_ARGUMENTS_CONTEXT_KEY,
        _SECURITY_ARGUMENTS_SNAPSHOT_CONTEXT_KEY,
        _argument_authority_token,
    )
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this door needs `pip install 'bobcat[agent-framework]'`", name=error.name) from error

Next = Callable[[], Awaitable[None]]
PROPERTY = "bobcat"
"""Name of the question and of the answer among the additional properties of a content."""


def guard_middleware(guard: Guard, *, interrupts: bool = True, hosted_tools: bool = False) -> list[Any]:
    """Make the middleware of an agent; all of it belongs at the end of the agent's list.

    A middleware after it that changes the arguments of a decided call ends the run with a `MiddlewareFailure`. Without
    `interrupts`, the guard's `on_approval` answers approvals. A model call with tools that the provider runs is
    refused, because no middleware sees their calls; `hosted_tools=True` permits it.
    """
    functions = _GuardFunctions(guard, interrupts=interrupts)
    return [functions] if hosted_tools else [functions, _RefuseHosted()]


def approve(request: Content, answer: Mapping[str, Any]) -> Content:
    """Answer an approval request: `{"granted": True, "approver": "alice"}`, or a refusal with a `reason`.

    The answer goes to the guard in a response that the framework takes as approved; a response that is not approved
    ends the call without the guard. Raises `TypeError` for anything but an approval request.
    """
    if not isinstance(request, Content) or request.type != "function_approval_request":
        raise TypeError("request must be a function_approval_request")
    response = request.to_function_approval_response(approved=True)
    response.additional_properties = {**(response.additional_properties or {}), PROPERTY: answer}
    return response


class _RefuseHosted(ChatMiddleware):
    async def process(self, context: ChatContext, call_next: Next) -> None:
        """Refuse a request with tools that no function middleware sees."""
        tools = context.options.get("tools") if context.options else None
        listed = tools if isinstance(tools, (list, tuple)) else [tools] if tools is not None else []
        hosted = [_name(each) for each in listed if not isinstance(each, FunctionTool)]
        if hosted:
            raise PermissionError(f"the guard does not see these tools: {', '.join(sorted(hosted))}")
        await call_next()


class _GuardFunctions(FunctionMiddleware):
    def __init__(self, guard: Guard, *, interrupts: bool) -> None:
        self._guard = guard
        self._interrupts = interrupts

    async def process(self, context: FunctionInvocationContext, call_next: Next) -> None:
        """Decide a call, and let it run if that is permitted."""
        try:
            call = await self._begin(context)
        except MiddlewareTermination:
            raise
        except Exception as error:
            context.result = f"[failed] {format_exception(error)}"
            return
        if not isinstance(call, SplitCall):
            context.result = call
            return
        try:
            self._fix_arguments(context, call)
            await call_next()
            await call.end(_value(context.result))
        except Exception as error:
            await call.end(format_exception(error), failed=True)
            raise
        finally:
            await call.abandon()

    async def _begin(self, context: FunctionInvocationContext) -> SplitCall | str:
        """The call that may run, or the answer to the model. Raises `MiddlewareTermination` to ask for an approval."""
        name, args = context.function.name, _mapping(context.arguments)
        schema = context.function.parameters()
        options: dict[str, Any] = {}
        if self._interrupts:
            decided = await decide(self._guard, name, args, schema=schema)
            if decided.status == "waiting":
                response = context.metadata.get("approval_response")
                if response is None:
                    context.result = _request(context, args, question(decided))
                    raise MiddlewareTermination("an approval is required")
                options["on_approval"] = GivenAnswers((response.additional_properties or {}).get(PROPERTY))
        call = await SplitCall.begin(self._guard, name, args, schema=schema, **options)
        return call if call.outcome is None else answer_text(call.outcome)

    def _fix_arguments(self, context: FunctionInvocationContext, call: SplitCall) -> None:
        """Make the decided arguments those of the call. The framework refuses a later change of them."""
        context.arguments = call.args or {}
        token = _argument_authority_token(dict(context.arguments), boundary="security policy")
        context.metadata[_SECURITY_ARGUMENTS_SNAPSHOT_CONTEXT_KEY] = token
        if _APPROVED_ARGUMENTS_CONTEXT_KEY in context.metadata:  # the guard has judged what the approver changed
            context.metadata[_APPROVED_ARGUMENTS_CONTEXT_KEY] = token


def _request(context: FunctionInvocationContext, args: dict[str, Any], asked: dict[str, Any]) -> Content:
    call_id = context.metadata["call_id"]
    name = context.metadata.get("function_call_occurrence_id") or call_id or uuid4().hex
    call = Content.from_function_call(call_id=call_id, name=context.function.name, arguments=args, id=name)
    return Content.from_function_approval_request(id=name, function_call=call, additional_properties={PROPERTY: asked})


def _mapping(arguments: Any) -> dict[str, Any]:
    dump = getattr(arguments, "model_dump", None)
    return dict(dump() if dump is not None else arguments)


def _value(result: Any) -> Any:
    """The value of a function for the record: the texts of its contents."""
    if not isinstance(result, list):
        return result
    return "\n".join(each.text if each.type == "text" else json_text(each.to_dict()) for each in result)


def _name(tool: Any) -> str:
    if isinstance(tool, Mapping):
        return safe_str(tool.get("type", "a tool"))
    return safe_str(getattr(tool, "name", type(tool).__name__))
