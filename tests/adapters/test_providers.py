"""The table of servers that speak the Chat Completions API, and what the agent does for their differences."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import pytest

from adapters.governed import TOOLS
from adapters.stream_server import chat_chunks, event, streaming
from adapters.test_openai_agent import _call, _reply
from adapters.vendor_server import serving
from bobcat import Message, ToolCall
from bobcat.adapters.openai_sdk import OpenAIAgent
from bobcat.adapters.providers import PROVIDERS, Provider, openai_compatible_agent, resolve_credentials

GO = (Message("user", "go"),)
CALL = _reply(None, _call("read", '{"path": "a"}'), finish="tool_calls")


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_has_an_address_and_a_variable(name: str) -> None:
    provider = PROVIDERS[name]
    url = urlsplit(provider.base_url)
    assert provider.name == name
    assert (url.scheme == "https" and "." in url.netloc) or url.hostname == "localhost"
    assert provider.env_key.endswith("_API_KEY")
    assert resolve_credentials(name, env={provider.env_key: "k"}) == (provider.base_url, "k")
    assert resolve_credentials(name, api_key="own", env={provider.env_key: "k"}) == (provider.base_url, "own")


FACTS = {
    "grok": ("https://api.x.ai/v1", "max_completion_tokens"),
    "groq": ("https://api.groq.com/openai/v1", "max_completion_tokens"),
    "together": ("https://api.together.ai/v1", "max_tokens"),
    "fireworks": ("https://api.fireworks.ai/inference/v1", "max_tokens"),
    "perplexity": ("https://api.perplexity.ai", "max_tokens"),
}
"""As the vendors' own SDKs and pages have them: see docs/how-to/adapters.md."""


@pytest.mark.parametrize("name", FACTS)
def test_the_table_has_what_the_vendors_say(name: str) -> None:
    assert (PROVIDERS[name].base_url, PROVIDERS[name].quirks.token_limit) == FACTS[name]


@pytest.mark.parametrize(
    ("name", "usage", "output"),
    [
        ("grok", {"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 339, "thought": 300}, 309),
        ("grok", {"prompt_tokens": 30, "completion_tokens": 309, "total_tokens": 339, "thought": 300}, 309),
        ("grok", {"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39}, 9),
        ("openai", {"prompt_tokens": 30, "completion_tokens": 309, "total_tokens": 339, "thought": 300}, 309),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_that_a_server_counts_apart_is_output(
    name: str, usage: dict[str, int], output: int, streamed: bool
) -> None:
    details = {"completion_tokens_details": {"reasoning_tokens": usage["thought"]}} if "thought" in usage else {}
    reported = {key: value for key, value in usage.items() if key != "thought"}
    reply = {**_reply("done"), "usage": {**reported, **details}}

    async def go(url: str) -> Any:
        async with _agent(url, quirks=PROVIDERS[name].quirks) as agent:
            return [item async for item in agent.stream(GO)][-1] if streamed else await agent.step(GO)

    if streamed:
        with streaming(chat_chunks(reply)) as streams:
            answer = asyncio.run(go(streams.url))
    else:
        with serving(reply) as vendor:
            answer = asyncio.run(go(vendor.url))
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (30, output)


def test_a_missing_key_is_an_error_unless_the_server_needs_none() -> None:
    with pytest.raises(ValueError, match=r"no API key for provider 'grok': pass api_key=\.\.\. or set the XAI_API_KEY"):
        resolve_credentials("grok", env={})
    assert resolve_credentials("ollama", env={}) == ("http://localhost:11434/v1", "not-needed")


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown provider 'mistralai'. Known: deepseek, fireworks, .*together\. For"):
        openai_compatible_agent("mistralai", tools=TOOLS, model="m", api_key="k")


def test_an_agent_of_a_provider_asks_its_server() -> None:
    async def go(url: str) -> Any:
        provider = Provider("acme", url, "ACME_KEY")
        async with openai_compatible_agent(provider, tools=TOOLS, model="m", system="brief", api_key="k") as agent:
            return await agent.step(GO)

    with serving(_reply("done")) as vendor:
        assert asyncio.run(go(vendor.url)).text == "done"
    assert vendor.requests[0]["model"] == "m"
    assert vendor.requests[0]["messages"][0] == {"role": "system", "content": "brief"}


def test_a_client_has_its_address_already() -> None:
    with pytest.raises(ValueError, match="not both"):
        OpenAIAgent(tools=TOOLS, client=object(), base_url="https://x")


def _agent(url: str, **options: Any) -> OpenAIAgent:
    return OpenAIAgent(tools=TOOLS, base_url=url, api_key="k", **options)


@pytest.mark.parametrize(("name", "field"), [("openai", "max_completion_tokens"), ("mistral", "max_tokens")])
def test_the_limit_of_a_reply_has_the_name_that_the_server_knows(name: str, field: str) -> None:
    async def go(url: str) -> None:
        async with _agent(url, max_tokens=7, stop=["END"], cache_key="u1", quirks=PROVIDERS[name].quirks) as agent:
            assert agent.max_output_tokens == 7
            await agent.step(GO)

    with serving(_reply("done")) as vendor:
        asyncio.run(go(vendor.url))
    request = vendor.requests[0]
    assert {key: request[key] for key in request if "tokens" in key} == {field: 7}
    assert (request["stop"], request["prompt_cache_key"]) == (["END"], "u1")


def test_an_option_that_is_given_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="extra sets `stop`"):
        _agent("http://x", stop=["a"], extra={"stop": ["b"]})


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}, named=False)


DETAIL = {"type": "reasoning.text", "index": 0, "text": "I read it.", "signature": "s"}
OTHER = {"type": "reasoning.encrypted", "index": 1, "data": "xyz"}
RETURNED: list[tuple[str, str, Any, list[Any]]] = [
    ("deepseek", "reasoning_content", "I read it.", ["I re", "ad it."]),
    ("deepseek", "reasoning_content", "", [""]),
    (
        "openrouter", "reasoning_details", [DETAIL, OTHER],
        [[{"type": "reasoning.text", "index": 0, "text": "I re"}], [{**DETAIL, "text": "ad it."}], [OTHER]],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "field", "value", "pieces"), RETURNED)
@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_beside_calls_goes_back_as_it_came(
    name: str, field: str, value: Any, pieces: list[Any], streamed: bool
) -> None:
    whole = {**CALL, "choices": [{**CALL["choices"][0]}]}
    whole["choices"][0]["message"] = {**CALL["choices"][0]["message"], field: value}
    quirks = PROVIDERS[name].quirks

    async def first(url: str) -> Any:
        async with _agent(url, quirks=quirks) as agent:
            return [item async for item in agent.stream(GO)][-1] if streamed else await agent.step(GO)

    async def second(url: str, call: ToolCall) -> None:
        said = Message(
            "assistant", call.text, name=call.tool, tool_call_id=call.call_id, tool_call_args=call.args,
            provider_data=call.provider_data,
        )  # fmt: skip
        async with _agent(url, quirks=quirks) as agent:
            await agent.step((*GO, said, Message("tool", "[ok] a", name=call.tool, tool_call_id=call.call_id)))

    if streamed:
        with streaming([*(_chunk({field: piece}) for piece in pieces), *chat_chunks(CALL)]) as streams:
            call = asyncio.run(first(streams.url))
    else:
        with serving(whole) as vendor:
            call = asyncio.run(first(vendor.url))
    with serving(_reply("done")) as vendor:
        asyncio.run(second(vendor.url, call))
    assert vendor.requests[0]["messages"][1][field] == value
    assert vendor.requests[0]["messages"][1]["tool_calls"][0]["id"] == call.call_id
