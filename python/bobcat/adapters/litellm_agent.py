"""Models of every vendor that LiteLLM knows, as an agent.

    agent = LiteLLMAgent(tools=tools, model="gemini/gemini-3-pro")
    await run_agent(agent, "tidy the notes", tools=tools, policy=policy)

Needs `pip install 'bobcat[litellm]'`. LiteLLM reads the vendors' keys from the environment.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from bobcat.adapters.chat_quirks import ChatQuirks
from bobcat.adapters.client_agent import sdk
from bobcat.adapters.openai_sdk import OpenAIAgent
from bobcat.adapters.streams import cut_off
from bobcat.tools.toolset import ToolSet

__all__ = ["LiteLLMAgent"]

_QUIRKS = ChatQuirks(token_limit="max_tokens", returned=("reasoning_content", "thinking_blocks"))
_OWN = ("api_base", "base_url", "api_key", "timeout", "num_retries", "max_retries", "fallbacks", "mock_response")


class LiteLLMAgent(OpenAIAgent):
    """Asks a model through LiteLLM for the next step. `model` has LiteLLM's form: `vendor/model`.

    Thinking beside calls goes back to the vendor as it came. `retries` is the number of further attempts of a request,
    and of a stream that breaks before its first part. `extra` has other parameters of `litellm.acompletion` by name.
    Raises `ValueError` when it names one that the adapter sets.
    """

    def __init__(
        self,
        *,
        tools: ToolSet,
        model: str,
        system: str = "",
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        stop: Sequence[str] | None = None,
        timeout: float | None = None,
        retries: int = 2,
        # Any: parameters of LiteLLM have any type.
        extra: Mapping[str, Any] | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
    ) -> None:
        taken = sorted(set(_OWN).intersection(extra or ()))
        if taken:
            raise ValueError(f"extra sets `{taken[0]}`, which the adapter sets: use its parameters")
        super().__init__(
            tools=tools, model=model, system=system, temperature=temperature, top_p=top_p, max_tokens=max_tokens,
            stop=stop, extra=extra, client=_Client(timeout, retries, base_url, api_key), quirks=_QUIRKS,
        )  # fmt: skip

    async def aclose(self) -> None:
        """Do nothing: LiteLLM's connections are those of the process."""


class _Client:
    """LiteLLM in the form of OpenAI's client."""

    def __init__(self, timeout: float | None, retries: int, base_url: str | None, api_key: str | None) -> None:
        self.max_retries = retries
        given = {"timeout": timeout, "api_base": base_url, "api_key": api_key, "num_retries": retries}
        self._given = {name: value for name, value in given.items() if value is not None}
        self._ask = sdk("litellm", "LiteLLMAgent").acompletion
        self.chat = SimpleNamespace(completions=self)

    # Any: parameters and responses of LiteLLM.
    async def create(self, **request: Any) -> Any:
        """The response, or its stream."""
        answer = await self._ask(**self._given, **request)
        return _whole(answer) if request.get("stream") else answer


async def _whole(stream: Any) -> AsyncIterator[Any]:
    """The chunks of a stream that the vendor ended. LiteLLM invents the reason for the end of one that breaks off."""
    async for chunk in stream:
        yield chunk
    reasons = (getattr(stream, name, None) for name in ("received_finish_reason", "intermittent_finish_reason"))
    if not any(reasons):
        raise cut_off()
