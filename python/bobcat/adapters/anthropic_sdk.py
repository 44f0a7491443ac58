"""Claude as an agent, through Anthropic's Messages API.

    tools = ToolSet.from_functions(read_file, write_file)
    async with ClaudeAgent(tools=tools, system="You are careful.") as agent:
        await run_agent(agent, "tidy the notes", tools=tools, policy=policy)

Needs `pip install 'bobcat[anthropic]'`. An agent holds its client and its configuration and nothing of a run, so one
agent may serve many runs at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from bobcat.adapters.arguments import CUT_OFF, read_arguments
from bobcat.adapters.closing import close
from bobcat.adapters.token_counts import count
from bobcat.adapters.transcript import Answered, Call, Replied, Said, turns
from bobcat.adapters.wire_names import WireNames
from bobcat.errors import IncompleteReply
from bobcat.model import FinalAnswer, Message, ToolCall, Usage
from bobcat.tool_schema import toolset_to_anthropic_tools
from bobcat.tools import ToolSet

__all__ = ["ClaudeAgent"]

_CUT_SHORT = ("max_tokens", "model_context_window_exceeded")


class ClaudeAgent:
    """Asks Claude for the next step.

    `client` is an `anthropic.AsyncAnthropic`, and stays the caller's to close. Without one the agent makes its own,
    from the environment, and closes it in `aclose` or at the end of `async with`.

    All tool calls of a reply are passed on. A reply that was cut off (`max_tokens`) fails the run when it is an answer,
    and costs the run only the unfinished call when it is not; a refusal fails it.
    """

    def __init__(
        self,
        *,
        tools: ToolSet,
        model: str = "claude-opus-4-7",
        system: str = "",
        max_tokens: int = 4096,
        # Any: a client of whatever release, or something that stands in for one.
        client: Any | None = None,
    ) -> None:
        self._owns_client = client is None
        self._client = _client() if client is None else client
        self._names = WireNames(tools.tools)
        self._request: dict[str, Any] = {"model": model, "max_tokens": max_tokens}
        if system:
            self._request["system"] = system
        offered = toolset_to_anthropic_tools(tools)
        if offered:
            self._request["tools"] = [{**tool, "name": self._names.wire(tool["name"])} for tool in offered]

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer | tuple[ToolCall, ...]:
        """What Claude does next. Raises `IncompleteReply` for an answer that is none, and what the SDK raises."""
        messages = _to_messages(conversation, self._names)
        response = await self._client.messages.create(**self._request, messages=messages)
        return self._read(response)

    async def aclose(self) -> None:
        """Close the client, if it is the agent's own."""
        if self._owns_client:
            await close(self._client)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # Any: the response is the SDK's, of whatever release.
    def _read(self, response: Any) -> ToolCall | FinalAnswer | tuple[ToolCall, ...]:
        usage = _usage(response, self._request["model"])
        reason = getattr(response, "stop_reason", None)
        blocks = list(response.content or ())
        text = "\n".join(block.text for block in blocks if _kind(block) == "text").strip()
        if reason == "refusal":
            raise IncompleteReply(f"the model refused to go on{_why(response)}")
        requested = [block for block in blocks if _kind(block) == "tool_use"]
        if not requested:
            if reason in _CUT_SHORT or reason == "pause_turn":
                raise IncompleteReply(f"the model stopped before its answer was complete ({reason})")
            return FinalAnswer(text or "(no response)", usage)
        calls: list[ToolCall] = []
        for block in requested:
            args, problem = read_arguments(block.input)
            if reason in _CUT_SHORT and block is blocks[-1]:
                problem = CUT_OFF.format(reason=reason)
            first = not calls
            name = self._names.tool(block.name)
            calls.append(ToolCall(name, args, block.id, usage if first else None, text if first else "", problem))
        return calls[0] if len(calls) == 1 else tuple(calls)


def _client() -> Any:
    try:
        from anthropic import AsyncAnthropic
    except ModuleNotFoundError as error:
        raise ImportError(
            "ClaudeAgent requires the 'anthropic' package. Install with: pip install 'bobcat[anthropic]'"
        ) from error
    return AsyncAnthropic()


def _kind(block: Any) -> object:
    return getattr(block, "type", None)


def _usage(response: Any, model: str) -> Usage | None:
    reported = getattr(response, "usage", None)
    if reported is None:
        return None
    return Usage(
        count(getattr(reported, "input_tokens", None)),
        count(getattr(reported, "output_tokens", None)),
        count(getattr(reported, "cache_read_input_tokens", None)),
        count(getattr(reported, "cache_creation_input_tokens", None)),
        model,
    )


def _why(response: Any) -> str:
    details = getattr(response, "stop_details", None)
    explanation = getattr(details, "explanation", None) or getattr(details, "category", None)
    return f": {explanation}" if explanation else ""


def _to_messages(conversation: Sequence[Message], names: WireNames) -> list[dict[str, Any]]:
    """The conversation in the shape of the Messages API, which wants the roles to take turns.

    System messages have no place in it: what the model is told about itself is the agent's `system`.
    """
    messages: list[dict[str, Any]] = []
    for turn in turns(conversation):
        blocks: list[dict[str, Any]]
        match turn:
            case Said("system", _):
                continue
            case Said(_, text):
                role, blocks = "user", [_text(text)]
            case Replied(text, calls):
                said = [_text(text)] if text.strip() else []
                role, blocks = "assistant", [*said, *(_tool_use(call, names) for call in calls)]
            case Answered(answers):
                role, blocks = "user", [_tool_result(*answer) for answer in answers]
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    for message in messages:
        match message:
            case {"role": "user", "content": [{"type": "text", "text": text}]}:
                message["content"] = text
    return messages


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _tool_use(call: Call, names: WireNames) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.call_id, "name": names.wire(call.tool), "input": call.args}


def _tool_result(call_id: str, _tool: str, text: str, failed: bool) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return {**block, "is_error": True} if failed else block
