"""OpenAI's models through the Responses API.

    async with OpenAIResponsesAgent(tools=tools, model="gpt-5") as agent:
        await run_agent(agent, "tidy the notes", tools=tools, policy=policy)

Needs `pip install 'bobcat[openai]'`. The API stores nothing (`store=False`): the conversation is in the run's journal,
and the model's reasoning goes back encrypted, exactly as it came.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from bobcat.adapters.arguments import CUT_OFF, read_arguments
from bobcat.adapters.client_agent import ClientAgent, ReadCall, Step, cut_short, sdk, unmediated
from bobcat.adapters.request_options import send
from bobcat.adapters.response_items import (
    CALL,
    incomplete_reason,
    ran_elsewhere,
    recorded,
    refusal_of,
    text_of,
    to_input,
    usage_of,
)
from bobcat.adapters.response_stream import ResponseStream, failed
from bobcat.adapters.streams import closing, reading
from bobcat.errors import IncompleteReply
from bobcat.model.deltas import Delta
from bobcat.model.run import FinalAnswer, Message
from bobcat.text.display import safe_text
from bobcat.tools.schema import toolset_to_openai_tools
from bobcat.tools.toolset import ToolSet

__all__ = ["OpenAIResponsesAgent"]

_RESERVED = (
    "model", "input", "instructions", "tools", "stream", "store", "background", "conversation", "previous_response_id",
    "prompt", "max_output_tokens", "prompt_cache_key",
)  # fmt: skip


class OpenAIResponsesAgent(ClientAgent):
    """Asks a model behind the Responses API for the next step.

    `client` is an `openai.AsyncOpenAI`, and stays the caller's to close. Without one the agent creates its own, for
    `base_url` and `api_key` or from the environment, and closes it in `aclose` or at the end of `async with`.

    Text, reasoning and calls of a reply keep their order and go back as they came. A reply that was cut off fails the
    run when it is an answer, and costs the run only the unfinished call when it is not; a refusal fails it, and so does
    a tool that the API ran by itself. `cache_key` goes out as `prompt_cache_key`. `extra` has other parameters of the
    API by name, such as `reasoning`. Raises `ValueError` when it names one that the adapter sets, and `TypeError` for
    `stop`, which this API does not have.
    """

    def __init__(
        self,
        *,
        tools: ToolSet,
        model: str = "gpt-5",
        system: str = "",
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
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
    ) -> None:
        if client is not None and (base_url is not None or api_key is not None):
            raise ValueError("OpenAIResponsesAgent: pass either `client` or `base_url`/`api_key`, not both")
        if stop is not None:
            raise TypeError("the Responses API has no stop sequences; OpenAIAgent(stop=...) has, for Chat Completions")
        super().__init__(
            tools, lambda: _client(base_url, api_key), client, _RESERVED, extra,
            timeout=timeout, retries=retries, temperature=temperature, top_p=top_p,
        )  # fmt: skip
        offered = [_flat(tool["function"], self._names.to_wire) for tool in toolset_to_openai_tools(tools)]
        named = {
            "max_output_tokens": max_tokens, "prompt_cache_key": cache_key,
            "instructions": system or None, "tools": offered or None,
        }  # fmt: skip
        given = {name: value for name, value in named.items() if value is not None}
        kept = {"store": False, "include": ["reasoning.encrypted_content"]}
        self._request = {"model": model, **given, **kept, **self._request}

    @property
    def max_output_tokens(self) -> int | None:
        """The most tokens of a reply, for a ledger; None without a limit."""
        found = self._request.get("max_output_tokens")
        return found if type(found) is int else None

    async def step(self, conversation: Sequence[Message]) -> Step:
        """The model's next step. Raises `IncompleteReply` for an incomplete answer, and the SDK's exceptions."""
        return self._read(await send(self._client.responses.create, self._asked(conversation)))

    async def _stream(self, conversation: Sequence[Message]) -> AsyncIterator[Delta | Step]:
        request = {**self._asked(conversation), "stream": True}
        reply = ResponseStream(self._names)
        async with closing(await send(self._client.responses.create, request)) as stream:
            with reading():
                async for event in stream:
                    delta = reply.add(event)
                    if delta is not None:
                        yield delta
        yield self._read(reply.response())

    def _asked(self, conversation: Sequence[Message]) -> dict[str, Any]:
        return {**self._request, "input": to_input(conversation, self._names)}

    # Any: the response is the SDK's, of any release.
    def _read(self, response: Any) -> Step:
        usage = usage_of(response, self._request["model"])
        if getattr(response, "status", None) in ("failed", "cancelled"):
            raise failed(getattr(response, "error", None))
        items = list(response.output or ())
        foreign = next((item for item in items if ran_elsewhere(item)), None)
        if foreign is not None:
            raise unmediated(getattr(foreign, "name", None) or foreign.type)
        reason, text = incomplete_reason(response), text_of(items)
        refusal = refusal_of(items)
        if refusal is not None or reason == "content_filter":
            raise IncompleteReply(safe_text(f"the model refused to continue: {refusal or reason}"), "reply_refused")
        requested = [item for item in items if item.type == CALL]
        if not requested:
            if reason:
                raise cut_short(reason)
            return FinalAnswer(text or "(no response)", usage)
        calls: list[ReadCall] = []
        for item in requested:
            args, problem = read_arguments(item.arguments)
            if getattr(item, "status", None) == "incomplete" or (reason and item is items[-1]):
                problem = CUT_OFF.format(reason=reason or "incomplete")
            calls.append(ReadCall(item.name, args, item.call_id, problem))
        return self._calls(calls, usage, text, recorded(items))


def _client(base_url: str | None, api_key: str | None) -> Any:
    given = {"base_url": base_url, "api_key": api_key}
    made = sdk("openai", "OpenAIResponsesAgent").AsyncOpenAI
    return made(**{name: value for name, value in given.items() if value})


# Any: JSON.
def _flat(function: Mapping[str, Any], to_wire: Any) -> dict[str, Any]:
    return {"type": "function", **function, "name": to_wire(function["name"]), "strict": False}
