"""Models behind the Chat Completions API, OpenAI's and others, as an agent.

    tools = ToolSet.from_functions(read_file, write_file)
    async with OpenAIAgent(tools=tools, model="gpt-5") as agent:
        await run_agent(agent, "tidy the notes", tools=tools, policy=policy)

Needs `pip install 'bobcat[openai]'`. An agent has a client and a configuration, and no state of a run, so one agent may
serve many runs at a time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from bobcat.adapters.arguments import CUT_OFF, RAW_ARGUMENTS, read_arguments
from bobcat.adapters.chat_quirks import OWN_QUIRKS, ChatQuirks, fields_to_return, returned_fields
from bobcat.adapters.chat_stream import ChatStream
from bobcat.adapters.client_agent import ClientAgent, ReadCall, Step, cut_short, sdk
from bobcat.adapters.content_parts import chat_content
from bobcat.adapters.request_options import send
from bobcat.adapters.streams import closing, reading
from bobcat.adapters.token_counts import counts, without_cached
from bobcat.adapters.tool_name_mapping import ToolNameMapping
from bobcat.adapters.transcript import AssistantTurn, TextTurn, ToolTurn, TurnCall, turns
from bobcat.errors import IncompleteReply
from bobcat.model.deltas import Delta
from bobcat.model.run import FinalAnswer, Message, Usage
from bobcat.text.json_text import json_text
from bobcat.tools.schema import toolset_to_openai_tools
from bobcat.tools.toolset import ToolSet

__all__ = ["OpenAIAgent"]

STREAM_OPTIONS = "stream_options"
"""The parameter for streamed replies only; `extra` may replace it."""

_RESERVED = ("model", "messages", "tools", "functions", "stream", "n", "web_search_options")


class OpenAIAgent(ClientAgent):
    """Asks a model behind a Chat Completions API for the next step.

    `client` is an `openai.AsyncOpenAI`, and stays the caller's to close. Without one the agent creates its own, for
    `base_url` and `api_key` or from the environment, and closes it in `aclose` or at the end of `async with`.

    All tool calls of a reply are passed on. A reply that was cut off (`length`) fails the run when it is an answer, and
    costs the run only the unfinished call when it is not; one that a content filter withheld fails it. `stream` yields
    the parts of the reply as they arrive; one that breaks before its first part is asked for again.

    `quirks` are the differences of a server that is not OpenAI's (see `bobcat.adapters.providers`). `cache_key` goes
    out as `prompt_cache_key`: requests with the same beginning and the same key find each other's cache.

    `timeout` (seconds for one attempt) and `retries` replace those of the client. `extra` has other parameters of the
    Chat Completions API by name, such as `reasoning_effort`. Raises `ValueError` when it names one that the adapter
    sets, or one that makes the API run tools by itself.
    """

    def __init__(
        self,
        *,
        tools: ToolSet,
        model: str = "gpt-5",
        system: str = "",
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        stop: Sequence[str] | None = None,
        cache_key: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        # Any: parameters of the API have any type.
        extra: Mapping[str, Any] | None = None,
        # Any: a client of any release, or a substitute for one.
        client: Any | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        quirks: ChatQuirks = OWN_QUIRKS,
    ) -> None:
        if client is not None and (base_url is not None or api_key is not None):
            raise ValueError(
                "OpenAIAgent: pass either a prebuilt `client` or `base_url`/`api_key`, not both "
                "(the client already carries them)."
            )
        super().__init__(
            tools, lambda: _client(base_url, api_key), client, _RESERVED, extra,
            timeout=timeout, retries=retries, temperature=temperature, top_p=top_p,
        )  # fmt: skip
        self._model = model
        self._system = system
        self._quirks = quirks
        named: dict[str, object] = {quirks.token_limit: max_tokens, "prompt_cache_key": cache_key}
        named["stop"] = None if stop is None else list(stop)
        given = {name: value for name, value in named.items() if value is not None}
        twice = given.keys() & self._request.keys()
        if twice:
            raise ValueError(f"extra sets `{min(twice)}`, which an argument of the agent sets too")
        self._request = {"model": model, **given, **self._request}
        offered = toolset_to_openai_tools(tools)
        if offered:
            self._request["tools"] = [_renamed(tool, self._names) for tool in offered]

    async def step(self, conversation: Sequence[Message]) -> Step:
        """The model's next step. Raises `IncompleteReply` for an incomplete answer, and the SDK's exceptions."""
        request = {name: value for name, value in self._asked(conversation).items() if name != STREAM_OPTIONS}
        return self._read(await send(self._client.chat.completions.create, request))

    async def _stream(self, conversation: Sequence[Message]) -> AsyncIterator[Delta | Step]:
        options = {STREAM_OPTIONS: {"include_usage": True}} if self._quirks.stream_usage else {}
        request = {**options, **self._asked(conversation), "stream": True}
        reply = ChatStream(self._names, self._quirks.returned)
        async with closing(await send(self._client.chat.completions.create, request)) as stream:
            with reading():
                async for chunk in stream:
                    for delta in reply.add(chunk):
                        yield delta
        yield self._read(reply.response())

    def _asked(self, conversation: Sequence[Message]) -> dict[str, Any]:
        return {**self._request, "messages": _to_messages(conversation, self._system, self._names, self._quirks)}

    # Any: the response is the SDK's, of any release.
    def _read(self, response: Any) -> Step:
        usage = _usage(response, self._request["model"], self._quirks)
        if not response.choices:
            return FinalAnswer("(no choices returned)", usage)
        choice = response.choices[0]
        message, reason = choice.message, getattr(choice, "finish_reason", None)
        text = message.content or getattr(message, "refusal", None) or ""
        if reason == "content_filter":
            raise IncompleteReply("a content filter withheld the model's reply", "reply_refused")
        requested = list(getattr(message, "tool_calls", None) or ())
        if not requested:
            if reason == "length":
                raise cut_short(reason)
            return FinalAnswer(text or "(no response)", usage)
        calls: list[ReadCall] = []
        for call in requested:
            name, args, problem = _called(call)
            if reason == "length" and call is requested[-1]:
                problem = CUT_OFF.format(reason=reason)
            calls.append(ReadCall(name, args, call.id or "", problem))
        return self._calls(calls, usage, text, returned_fields(message, self._quirks.returned))


def _client(base_url: str | None, api_key: str | None) -> Any:
    given = {"base_url": base_url, "api_key": api_key}
    return sdk("openai", "OpenAIAgent").AsyncOpenAI(**{name: value for name, value in given.items() if value})


def _renamed(tool: dict[str, Any], names: ToolNameMapping) -> dict[str, Any]:
    function = tool["function"]
    return {**tool, "function": {**function, "name": names.to_wire(function["name"])}}


def _called(call: Any) -> tuple[str, dict[str, Any], str | None]:
    """Name, arguments and problem of one call. Only functions are offered, so a call of another kind is a problem."""
    function = getattr(call, "function", None)
    if function is not None:
        return function.name, *read_arguments(function.arguments)
    custom = getattr(call, "custom", None)
    sent = {RAW_ARGUMENTS: getattr(custom, "input", "")}
    return getattr(custom, "name", ""), sent, f"a tool call of type `{call.type}` was not offered"


def _usage(response: Any, model: str, quirks: ChatQuirks) -> Usage | None:
    reported = getattr(response, "usage", None)
    if reported is None:
        return None
    details = getattr(reported, "prompt_tokens_details", None)
    read, written = counts(details, "cached_tokens", "cache_write_tokens")
    total, output = counts(reported, "prompt_tokens", "completion_tokens")
    if quirks.reasoning_apart and output is not None:
        output += _reasoning_apart(reported, (total or 0) + output)
    return Usage(without_cached(total, read, written), output, read, written, model)


def _reasoning_apart(reported: Any, counted: int) -> int:
    """The tokens of thinking beside the `counted` ones of prompt and reply; none where the total says that they are
    among these.
    """
    (thought,) = counts(getattr(reported, "completion_tokens_details", None), "reasoning_tokens")
    (total,) = counts(reported, "total_tokens")
    return 0 if total == counted else thought or 0


def _to_messages(
    conversation: Sequence[Message], system: str, names: ToolNameMapping, quirks: ChatQuirks = OWN_QUIRKS
) -> list[dict[str, Any]]:
    """The conversation in the format of the Chat Completions API: one message per reply, one per answer."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for turn in turns(conversation):
        match turn:
            case TextTurn(role, text, attachments):
                messages.append({"role": role, "content": chat_content(text, attachments)})
            case AssistantTurn(text, calls, data):
                message: dict[str, Any] = {"role": "assistant", "content": text or None}
                if calls:
                    message |= fields_to_return(data, quirks.returned)
                    message["tool_calls"] = [_tool_call(call, names) for call in calls]
                messages.append(message)
            case ToolTurn(answers):
                messages.extend(
                    {"role": "tool", "tool_call_id": answer.call_id, "content": answer.text} for answer in answers
                )
    return messages


def _tool_call(call: TurnCall, names: ToolNameMapping) -> dict[str, Any]:
    function = {"name": names.to_wire(call.tool), "arguments": json_text(call.args)}
    return {"id": call.call_id, "type": "function", "function": function}
