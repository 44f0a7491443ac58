"""Parsing of agent replies: tool calls with frozen arguments, a final answer, or an `InvalidReply`.

The machine reads every live reply and every journaled one through this module, and keeps no object of the agent: later
changes to the agent's objects have no effect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bobcat.errors import ArgumentError
from bobcat.journal.records import usage_from_body, usage_to_body
from bobcat.model.exact import exact_arguments
from bobcat.model.frozen import FrozenDict, deep_freeze, thaw
from bobcat.model.run import FinalAnswer, ToolCall, ToolDef, Usage
from bobcat.text.json_text import format_exception

MAX_CALLS_PER_REPLY = 128
"""Maximum number of tool calls in one reply; a longer reply fails the run."""

UNREADABLE_ARGUMENTS = "unreadable_arguments"
"""Code of a problem that an adapter or the reply parser found."""

_NO_ARGS: FrozenDict[str, Any] = FrozenDict()
_NO_TOOLS: Mapping[str, ToolDef] = FrozenDict()


class Proposal(NamedTuple):
    """One proposed call. `problem` is set when it must not run, for example when its arguments are not a mapping."""

    tool: str
    args: Mapping[str, Any]
    call_id: str
    usage: Usage | None
    problem: str | None
    text: str = ""
    provider_data: Mapping[str, Any] | None = None
    code: str = UNREADABLE_ARGUMENTS
    """Code of the problem."""


class InvalidReply(NamedTuple):
    """The reason why a reply is invalid."""

    text: str


Reply = tuple[Proposal, ...] | FinalAnswer | InvalidReply


def read_reply(reply: object, *, strict: bool = True, tools: Mapping[str, ToolDef] = _NO_TOOLS) -> Reply:
    """Parse the return value of `agent.step`. Without `strict`, a field may have another type that a run can use.

    Arguments are exact copies (`bobcat.model.exact`), except those that one of `tools` takes as they are.
    """
    try:
        return _read(reply, strict, tools)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a subclass can make the read itself fail, and nothing is awaited here
        return InvalidReply(
            f"agent.step returned a {type(reply).__name__} that cannot be read: {format_exception(error)}"
        )


def _read(reply: object, strict: bool, tools: Mapping[str, ToolDef]) -> Reply:
    if isinstance(reply, ToolCall):
        call = _read_call(reply, strict, tools)
        return call if isinstance(call, InvalidReply) else (call,)
    if isinstance(reply, FinalAnswer):
        return (_checked(reply, "text") if strict else None) or _bad_usage(reply, strict) or reply
    if not isinstance(reply, (list, tuple)):
        return InvalidReply(f"agent.step returned {type(reply).__name__}, not a ToolCall or FinalAnswer")
    if not 0 < len(reply) <= MAX_CALLS_PER_REPLY:
        return InvalidReply(f"agent.step returned {len(reply)} tool calls; a reply has 1 to {MAX_CALLS_PER_REPLY}")
    calls: list[Proposal] = []
    for item in reply:
        if not isinstance(item, ToolCall):
            return InvalidReply(f"agent.step returned {type(item).__name__} in a list; only tool calls come in lists")
        call = _read_call(item, strict, tools)
        if isinstance(call, InvalidReply):
            return call
        calls.append(call)
    return tuple(calls)


Show = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def reply_to_body(reply: tuple[Proposal, ...] | FinalAnswer, step: int, show: Show) -> dict[str, Any]:
    """The journal body of a reply that begins at `step`; `show` returns the loggable form of the arguments."""
    if isinstance(reply, FinalAnswer):
        body: dict[str, Any] = {"step": step, "type": "final_answer", "text": reply.text}
        if reply.usage is not None:
            body["usage"] = usage_to_body(reply.usage)
        return body
    if len(reply) == 1:
        return {"step": step, "type": "tool_call", **_call_to_body(reply[0], show)}
    return {"step": step, "type": "tool_calls", "calls": [_call_to_body(call, show) for call in reply]}


def reply_from_body(body: Mapping[str, Any]) -> tuple[Proposal, ...] | FinalAnswer:
    """Parse the reply of a journal body. Raises for an invalid body."""
    kind = body.get("type")
    if kind == "final_answer":
        return FinalAnswer(body["text"], usage_from_body(body.get("usage")))
    if kind == "tool_calls":
        return tuple(_call_from_body(call) for call in body["calls"])
    return (_call_from_body(body),)


def _read_call(call: ToolCall, strict: bool, tools: Mapping[str, ToolDef]) -> Proposal | InvalidReply:
    invalid = _invalid_field(call, strict)
    if invalid is not None:
        return invalid
    data = call.provider_data
    if data is not None:
        try:
            data = _provider_data(data)
        except (TypeError, ValueError, RecursionError) as error:
            return InvalidReply(
                f"agent.step returned a ToolCall whose provider_data is not a JSON object: {format_exception(error)}"
            )
    # A `str` subclass with its own comparison could have one value for the policy and another one here.
    tool, call_id, text = _exact_text(call.tool), _exact_text(call.call_id), _exact_text(call.text)
    args: Any = call.args  # Any: the agent's value of any type
    problem, code = call.problem and _exact_text(call.problem), UNREADABLE_ARGUMENTS
    frozen: Mapping[str, Any] = _NO_ARGS
    if type(args) is not dict and not isinstance(args, Mapping) and (strict or not _is_pairs(args)):
        problem = f"arguments must be a mapping, got {type(args).__name__}"
        return Proposal(tool, frozen, call_id, call.usage, problem, text, data)
    try:
        # A copy first: freezing keeps the identity of frozen values, and the agent may keep a reference.
        copy = args if type(args) is dict else dict(args)
        frozen = exact_arguments(copy, _opaque(tools.get(tool))) if strict else deep_freeze(copy)
    except KeyboardInterrupt:
        raise
    except ArgumentError as error:
        problem, code = str(error), error.code
    except BaseException as error:
        problem = f"arguments cannot be used: {format_exception(error)}"
    return Proposal(tool, frozen, call_id, call.usage, problem, text, data, code)


def _provider_data(data: object) -> Mapping[str, Any]:
    """The provider's data as the journal holds it: a resumed run sends the same data."""
    if not isinstance(data, Mapping):
        raise TypeError(f"got {type(data).__name__}")
    frozen: Mapping[str, Any] = deep_freeze(json.loads(json.dumps(thaw(data), allow_nan=False)))
    return frozen


def _exact_text(text: Any) -> Any:  # Any: without `strict`, a name can be of another type
    return text if type(text) is str or not isinstance(text, str) else str.__str__(text)


def _opaque(tool: ToolDef | None) -> tuple[str, ...]:
    return () if tool is None else tool.opaque_args


def _is_pairs(args: object) -> bool:
    """Return true if `dict` accepts the value repeatedly."""
    return isinstance(args, (list, tuple)) and all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in args)


def _invalid_field(call: ToolCall, strict: bool) -> InvalidReply | None:
    """The problem with the fields of a call, its arguments aside, or None."""
    if type(call.tool) is type(call.call_id) is type(call.text) is str and call.usage is None is call.problem:
        return None
    if strict:
        for name in ("tool", "call_id", "text"):
            invalid = _checked(call, name)
            if invalid is not None:
                return invalid
    else:
        hash(call.tool)
    if call.problem is not None:
        invalid = _checked(call, "problem")
        if invalid is not None:
            return invalid
    return _bad_usage(call, strict)


def _checked(action: ToolCall | FinalAnswer, name: str) -> InvalidReply | None:
    value = getattr(action, name)
    if isinstance(value, str):
        return None
    return InvalidReply(
        f"agent.step returned a {type(action).__name__} whose {name} is {type(value).__name__}, not str"
    )


def _bad_usage(action: ToolCall | FinalAnswer, strict: bool) -> InvalidReply | None:
    usage: object = action.usage
    if usage is None:
        return None
    name = type(action).__name__
    if not isinstance(usage, Usage):
        return InvalidReply(f"agent.step returned a {name} whose usage is {type(usage).__name__}, not Usage")
    for count in (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens):
        given: object = count
        fits = (type(given) is int and given >= 0) if strict else isinstance(given, (int, float))
        if given is not None and not fits:
            return InvalidReply(f"agent.step returned a {name} whose usage counts {given!r} tokens")
    return None


def _call_to_body(call: Proposal, show: Show) -> dict[str, Any]:
    body: dict[str, Any] = {"tool": call.tool, "args": show(call.args), "call_id": call.call_id}
    if call.problem is not None:
        body["problem"] = call.problem
        if call.code != UNREADABLE_ARGUMENTS:
            body["problem_code"] = call.code
    if call.text:
        body["text"] = call.text
    if call.provider_data is not None:
        body["provider_data"] = show(call.provider_data)
    if call.usage is not None:
        body["usage"] = usage_to_body(call.usage)
    return body


def _call_from_body(body: Mapping[str, Any]) -> Proposal:
    args = deep_freeze(dict(body.get("args", {})))
    usage = usage_from_body(body.get("usage"))
    return Proposal(
        body["tool"],
        args,
        body.get("call_id", ""),
        usage,
        body.get("problem"),
        body.get("text", ""),
        deep_freeze(body.get("provider_data")),
        body.get("problem_code", UNREADABLE_ARGUMENTS),
    )
