"""The gate of a proxy: each `tools/call` is submitted to the guard, and sent to the server if that permits."""

from __future__ import annotations

import json
from contextvars import ContextVar
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal, Protocol

from bobcat.adapters.mcp_content import result_text
from bobcat.approvals import ApprovalHandler
from bobcat.guard import Guard, Outcome
from bobcat.guards.answers import ToolError, answer_text
from bobcat.proxy.catalog import Function, Listed
from bobcat.proxy.link import Link
from bobcat.proxy.message import INVALID_PARAMS, Message, MessageError, error, raw, result
from bobcat.proxy.rounds import INNER, Rounds, envelope_of
from bobcat.proxy.upstream import UpstreamError
from bobcat.text.json_text import json_text

OUTCOME = "bobcat/outcome"
"""Key of `_meta` under which a result that is not the server's has its cause."""

Approvals = Literal["auto", "elicit", "wait", "deny"]
Args = dict[str, Any]  # Any: JSON
Ask = ApprovalHandler | Rounds | None
"""The way to ask the client's user, if there is one."""


class ToolGate(Protocol):
    """Answers calls of tools."""

    async def answer(self, link: Link, message: Message, ask: Ask, client: str) -> Message:
        """The answer to a `tools/call`. `ask` puts an approval to the client's user, None where that cannot be."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The guard, and how approvals are answered. `durable`: its store keeps approvals that wait."""

    guard: Guard
    durable: bool

    async def answer(self, link: Link, message: Message, ask: Ask, client: str) -> Message:
        """The answer to a `tools/call`: the server's, or a result with the reason for its absence."""
        try:
            name, args, params = called(message)
        except MessageError as problem:
            return error(message.id, INVALID_PARAMS, str(problem))
        try:
            listed = await link.catalog.find(name, envelope_of(params))
        except (UpstreamError, MessageError) as problem:
            outcome = await self.guard.refuse(name, args, reason=str(problem), code="not_listed")
            return blocked(message, outcome)
        if listed is None:
            await self.guard.submit(name, args)
            return error(message.id, INVALID_PARAMS, f"Unknown tool: {name}")
        if listed.problem is not None:
            outcome = await self.guard.refuse(name, args, reason=listed.problem, code="definition_changed")
            return blocked(message, outcome)
        sending = Sending(link, listed, message, args)
        extra = {"server": link.server.name, "client": client}
        if isinstance(ask, Rounds):
            granted = ask.answered(name, args, params)
            if granted is None:
                found = await self.guard.check(sending.tool.name, args, run=sending.tool, extra=extra)
                if found.status == "waiting":
                    return result(message.id, ask.ask(found, args, params))
            else:
                sending.inner = granted.inner
            ask = granted
        sending.begin()
        outcome = await self._submitted(sending, args, ask, extra)
        if sending.answer is not None and outcome.status in ("ok", "failed"):
            return sending.answer
        return blocked(message, outcome)

    async def _submitted(self, sending: Sending, args: Args, ask: ApprovalHandler | None, extra: Args) -> Outcome:
        """Submit a call. One that waits for an approval in the store is continued by the same call made again."""
        tool = sending.tool
        if ask is not None or not self.durable:
            return await self.guard.submit(tool.name, args, run=tool, extra=extra, on_approval=ask)
        found = await self.guard.check(tool.name, args, run=tool, extra=extra)
        if found.status != "waiting":
            return await self.guard.submit(tool.name, args, run=tool, extra=extra)
        number = 0
        while True:
            key = json_text(["mcp", tool.name, args, number])
            outcome = await self.guard.submit(tool.name, args, key=key, run=tool, extra=extra)
            if not outcome.replayed or outcome.status == "uncertain":
                return outcome
            number += 1


_CURRENT: ContextVar[Sending] = ContextVar("bobcat_proxy_call")
"""The call of this task. PERF: the tools keep one function, whose signature is read once."""


def function_of(name: str) -> Function:
    """The function of a listed tool: it sends the call of its task."""

    async def call(**effective: Any) -> str:
        return await _CURRENT.get().send(effective)

    call.__name__ = call.__qualname__ = f"mcp_tool[{name}]"
    return call


def called(message: Message) -> tuple[str, Args, Args]:
    """The tool, the arguments and all parameters of a `tools/call`. Raises `MessageError`."""
    params = message.mapping("params")
    name, args = params.get("name"), params.get("arguments")
    args = {} if args is None else args
    if not isinstance(name, str) or not isinstance(args, dict):
        raise MessageError("`name` must be a string and `arguments` an object")
    return name, args, params


class Sending:
    """One call on its way to the server, and the server's answer."""

    def __init__(self, link: Link, listed: Listed, message: Message, args: Args) -> None:
        self._link = link
        self._listed = listed
        self._message = message
        self._args = args
        self.tool = listed.tool
        self.answer: Message | None = None
        self.inner: Args | None = None
        """What the server had asked for, in place of the answer to the proxy's question."""

    def begin(self) -> None:
        """Make this the call that the tool's function sends, in this task."""
        _CURRENT.set(self)

    async def send(self, effective: Args) -> str:
        """Send the call with the arguments that were decided; return its result as text for the record."""
        message = self._message
        parts = message.parts("params")
        if self._link.server.prefix:
            parts["name"] = raw(self._listed.name)
        if json_text(effective) != json_text(self._args):
            parts["arguments"] = raw(effective)
        if self.inner is not None:
            kept = {part: each for part, each in parts.items() if part not in INNER}
            parts = {**kept, **{part: raw(each) for part, each in self.inner.items()}}
        self.answer = await self._link.request(message.replaced(params=parts))
        if not self.answer.has("result"):
            raise ToolError(str(self.answer.mapping("error").get("message", "")))
        text, failed = summary(self.answer)
        if failed:
            raise ToolError(text or "the tool failed without a reason")
        return text


def summary(answer: Message) -> tuple[str, bool]:
    """The result of a call as text, and true if the server calls it an error."""
    data = answer.mapping("result")
    try:
        found = json.loads(json.dumps(data), object_hook=lambda each: SimpleNamespace(**each))
        found.content, found.structuredContent = getattr(found, "content", None), data.get("structuredContent")
        text = result_text(found)
    except (AttributeError, TypeError):
        text = json.dumps(data)
    return text, data.get("isError") is True


def blocked(message: Message, outcome: Outcome) -> Message:
    """The result of a call that was not executed, or whose outcome is not known."""
    text = answer_text(outcome)
    if outcome.status == "waiting":
        text = f"[waiting] approval {', '.join(outcome.approvals)} is open; when it is granted, call the tool again"
    data = outcome.to_json()
    names = ("status", "record_id", "code", "verdict", "reason", "matched_rules", "approvals")
    about = {name: data[name] for name in names if data[name]}
    found = {"content": [{"type": "text", "text": text}], "isError": True, "_meta": {OUTCOME: about}}
    kind = {"resultType": "complete"} if envelope_of(message.mapping("params")) else {}
    return result(message.id, found | kind)
