"""Claude as an agent, through Anthropic's Messages API.

    tools = ToolSet.from_functions(read_file, write_file)
    async with ClaudeAgent(tools=tools, system="You are careful.") as agent:
        await run_agent(agent, "tidy the notes", tools=tools, policy=policy)

Needs `pip install 'bobcat[anthropic]'`. An agent has a client and a configuration, and no state of a run, so one agent
may serve many runs at a time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from bobcat.adapters.arguments import CUT_OFF, read_arguments
from bobcat.adapters.client_agent import ClientAgent, ReadCall, Step, cut_short, sdk, unmediated
from bobcat.adapters.content_parts import claude_blocks
from bobcat.adapters.prompt_cache import cached
from bobcat.adapters.request_options import fitting, send
from bobcat.adapters.stream_retries import repeated, retries_of
from bobcat.adapters.streams import NO_ARGUMENTS, StreamedCall, cut_off, last_of, reading
from bobcat.adapters.token_counts import counts
from bobcat.adapters.tool_name_mapping import ToolNameMapping
from bobcat.adapters.transcript import AssistantTurn, TextTurn, ToolTurn, TurnCall, turns
from bobcat.errors import IncompleteReply
from bobcat.model.deltas import Delta, TextDelta, ThinkingDelta
from bobcat.model.run import FinalAnswer, Message, Usage
from bobcat.tools.schema import toolset_to_anthropic_tools
from bobcat.tools.toolset import ToolSet

__all__ = ["ClaudeAgent"]

STREAMED_ABOVE_TOKENS = 8_192
"""Token limit above which replies are streamed: from here on the SDK refuses, for some models, to wait for them whole.
"""
DATA = "anthropic"
"""The name of the content blocks of a reply in `ToolCall.provider_data`."""

_CUT_SHORT = ("max_tokens", "model_context_window_exceeded")
_RESERVED = ("model", "max_tokens", "messages", "system", "tools", "stream", "mcp_servers", "container")


class ClaudeAgent(ClientAgent):
    """Asks Claude for the next step.

    `client` is an `anthropic.AsyncAnthropic`, and stays the caller's to close. Without one the agent creates its own,
    from the environment, and closes it in `aclose` or at the end of `async with`.

    All tool calls of a reply are passed on. A reply that was cut off (`max_tokens`) fails the run when it is an answer,
    and costs the run only the unfinished call when it is not; a refusal fails it. Thinking goes back to the API as it
    came, signed, and in its place among text and calls. `stream` yields the parts of the reply as they arrive; `step`
    streams long replies without showing them.

    `cache_prompt` marks the system prompt, the tools and the end of the conversation for the provider's cache, so that
    the next step pays the lower price for all of them.

    `timeout` (seconds for one attempt) and `retries` replace those of the client. `extra` has other parameters of the
    Messages API by name, such as `thinking`. Raises `ValueError` when it names one that the adapter sets, or one that
    makes the API run tools by itself.
    """

    def __init__(
        self,
        *,
        tools: ToolSet,
        model: str = "claude-opus-4-7",
        system: str = "",
        max_tokens: int = 4096,
        temperature: float | None = None,
        top_p: float | None = None,
        stop: Sequence[str] | None = None,
        cache_prompt: bool = True,
        timeout: float | None = None,
        retries: int | None = None,
        # Any: parameters of the API have any type.
        extra: Mapping[str, Any] | None = None,
        # Any: a client of any release, or a substitute for one.
        client: Any | None = None,
    ) -> None:
        super().__init__(
            tools, _client, client, _RESERVED, extra,
            timeout=timeout, retries=retries, temperature=temperature, top_p=top_p,
        )  # fmt: skip
        self._request = {"model": model, "max_tokens": max_tokens, **self._request}
        self._cache_prompt = cache_prompt
        if stop is not None:
            if "stop_sequences" in self._request:
                raise ValueError("extra sets `stop_sequences`, which the argument `stop` sets too")
            self._request["stop_sequences"] = list(stop)
        if system:
            self._request["system"] = system
        offered = toolset_to_anthropic_tools(tools)
        if offered:
            self._request["tools"] = [{**tool, "name": self._names.to_wire(tool["name"])} for tool in offered]

    async def step(self, conversation: Sequence[Message]) -> Step:
        """Claude's next step. Raises `IncompleteReply` for an incomplete answer, and the SDK's exceptions."""
        api = self._client.messages
        if self._request["max_tokens"] <= STREAMED_ABOVE_TOKENS or not hasattr(api, "stream"):
            return self._read(await send(api.create, self._asked(conversation)))
        return await last_of(repeated(lambda: self._stream(conversation), retries_of(self._client), shown=False))

    def _asked(self, conversation: Sequence[Message]) -> dict[str, Any]:
        request = {**self._request, "messages": _to_messages(conversation, self._names)}
        return cached(request) if self._cache_prompt else request

    async def _stream(self, conversation: Sequence[Message]) -> AsyncIterator[Delta | Step]:
        api = self._client.messages
        request = self._asked(conversation)
        if not hasattr(api, "stream"):  # a substitute for a client of the SDK
            yield self._read(await send(api.create, request))
            return
        message = None
        calls: dict[int, StreamedCall] = {}
        async with api.stream(**fitting(api.stream, request)) as stream:
            with reading():
                async for event in stream:
                    if event.type == "message_start":
                        message = event.message
                    delta = self._delta(event, calls)
                    if delta is not None:
                        yield delta
            if message is not None:
                message = await stream.get_final_message()
        if message is None or message.stop_reason is None:  # half of a call looks like a call
            raise cut_off()
        yield self._read(message, {index: call.text for index, call in calls.items() if call.text})

    # Any: the event is the SDK's, of any release.
    def _delta(self, event: Any, calls: dict[int, StreamedCall]) -> Delta | None:
        """The delta in an event. `calls` collects the arguments of calls by the index of their blocks."""
        if event.type == "content_block_start" and _kind(event.content_block) == "tool_use":
            block = event.content_block
            calls[event.index] = StreamedCall(block.id, self._names.to_tool(block.name))
            return calls[event.index].add("")
        if event.type != "content_block_delta":
            return None
        match _kind(event.delta):
            case "text_delta":
                return TextDelta(event.delta.text)
            case "thinking_delta":
                return ThinkingDelta(event.delta.thinking)
            case "input_json_delta" if event.index in calls:
                return calls[event.index].add(event.delta.partial_json)
        return None

    # Any: the response is the SDK's, of any release.
    def _read(self, response: Any, sent: Mapping[int, str] = NO_ARGUMENTS) -> Step:
        """The step in a response. `sent` has the arguments of streamed calls as text, by the index of their blocks.

        The SDK completes the JSON of arguments that end early; the text shows that they do.
        """
        usage = _usage(response, self._request["model"])
        reason = getattr(response, "stop_reason", None)
        blocks = list(response.content or ())
        text = "\n".join(block.text for block in blocks if _kind(block) == "text").strip()
        if reason == "refusal":
            raise IncompleteReply(f"the model refused to continue{_refusal_reason(response)}", "reply_refused")
        foreign = next((block for block in blocks if _ran_elsewhere(block)), None)
        if foreign is not None:
            raise unmediated(getattr(foreign, "name", None) or _kind(foreign))
        requested = [(index, block) for index, block in enumerate(blocks) if _kind(block) == "tool_use"]
        if not requested:
            if reason in _CUT_SHORT or reason == "pause_turn":
                raise cut_short(reason)
            return FinalAnswer(text or "(no response)", usage)
        calls: list[ReadCall] = []
        for index, block in requested:
            args, problem = read_arguments(sent.get(index, block.input))
            if reason in _CUT_SHORT and block is blocks[-1]:
                problem = CUT_OFF.format(reason=reason)
            calls.append(ReadCall(block.name, args, block.id, problem))
        return self._calls(calls, usage, text, _data(blocks))


def _client() -> Any:
    return sdk("anthropic", "ClaudeAgent").AsyncAnthropic()


def _kind(block: Any) -> object:
    return getattr(block, "type", None)


def _ran_elsewhere(block: Any) -> bool:
    """Return true if a block is the call or the result of a tool that the provider, or one of its servers, ran."""
    kind = _kind(block)
    return isinstance(kind, str) and (kind in ("server_tool_use", "mcp_tool_use") or kind.endswith("_tool_result"))


def _usage(response: Any, model: str) -> Usage | None:
    reported = getattr(response, "usage", None)
    if reported is None:
        return None
    total, output = counts(reported, "input_tokens", "output_tokens")
    read, written = counts(reported, "cache_read_input_tokens", "cache_creation_input_tokens")
    return Usage(total, output, read, written, model)


def _refusal_reason(response: Any) -> str:
    details = getattr(response, "stop_details", None)
    explanation = getattr(details, "explanation", None) or getattr(details, "category", None)
    return f": {explanation}" if explanation else ""


def _to_messages(conversation: Sequence[Message], names: ToolNameMapping) -> list[dict[str, Any]]:
    """The conversation in the format of the Messages API, which requires alternating roles.

    It has no system messages: the system prompt is the agent's `system`.
    """
    messages: list[dict[str, Any]] = []
    for turn in turns(conversation):
        blocks: list[dict[str, Any]]
        match turn:
            case TextTurn("system", _):
                continue
            case TextTurn(_, text, attachments):
                role, blocks = "user", claude_blocks(attachments)
                if text or not blocks:
                    blocks.append(_text(text))
            case AssistantTurn(text, calls, data):
                role, blocks = "assistant", _assistant_message(text, calls, data, names)
            case ToolTurn(answers):
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


# Any: blocks are the SDK's, of any release, or JSON.
def _data(blocks: Sequence[Any]) -> dict[str, Any] | None:
    """The blocks of a reply in their order, calls by id only; None where text and calls carry the same information."""
    kinds = [_kind(block) for block in blocks]
    texts = sum(kind == "text" for kind in kinds)
    if set(kinds) <= {"text", "tool_use"} and (not texts or (texts == 1 and kinds[0] == "text")):
        return None
    kept: list[dict[str, Any]] = []
    for block, kind in zip(blocks, kinds, strict=True):
        if kind == "tool_use":
            kept.append({"type": "tool_use", "id": block.id})
        elif kind == "text":
            if block.text.strip():
                kept.append(_text(block.text))
        elif hasattr(block, "model_dump"):
            kept.append(block.model_dump(mode="json", exclude_none=True))
        else:  # a substitute for a block of the SDK
            names = ("type", "thinking", "signature", "data")
            kept.append({name: getattr(block, name) for name in names if hasattr(block, name)})
    return {DATA: kept}


def _assistant_message(
    text: str, calls: Sequence[TurnCall], data: Mapping[str, Any], names: ToolNameMapping
) -> list[dict[str, Any]]:
    """The blocks of a reply: the recorded ones where available, else the text before the calls."""
    kept = data.get(DATA)
    left = list(calls)
    blocks: list[dict[str, Any]] = []
    if not isinstance(kept, list):
        kept = [_text(text)] if text.strip() else []
    for block in kept:
        if not isinstance(block, dict):
            continue
        if block.get("type") != "tool_use":
            blocks.append(block)
            continue
        call = next((call for call in left if call.call_id == block.get("id")), None)
        if call is not None:
            left.remove(call)
            blocks.append(_tool_use(call, names))
    return [*blocks, *(_tool_use(call, names) for call in left)]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _tool_use(call: TurnCall, names: ToolNameMapping) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.call_id, "name": names.to_wire(call.tool), "input": call.args}


def _tool_result(call_id: str, _tool: str, text: str, failed: bool) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return {**block, "is_error": True} if failed else block
