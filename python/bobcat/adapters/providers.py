"""Servers that speak OpenAI's Chat Completions API, as data: where they are, their keys, and where they differ.

    async with openai_compatible_agent("mistral", tools=tools, model="mistral-large-latest") as agent:
        await run_agent(agent, "tidy the notes", tools=tools, policy=policy)

Models are not in the table: a model's name is the caller's choice.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bobcat.adapters.chat_quirks import OWN_QUIRKS, ChatQuirks
from bobcat.adapters.openai_sdk import OpenAIAgent
from bobcat.tools.toolset import ToolSet

__all__ = ["PROVIDERS", "Provider", "openai_compatible_agent", "resolve_credentials"]

NO_KEY = "not-needed"
"""The key that the SDK gets for a server without keys: it refuses an empty one."""

_PLAIN = ChatQuirks(token_limit="max_tokens")
_NEWER = ChatQuirks(token_limit="max_completion_tokens")


@dataclass(frozen=True, slots=True)
class Provider:
    """A server: its base URL, and the environment variable of its key. `key_optional` is for servers without keys."""

    name: str
    base_url: str
    env_key: str
    key_optional: bool = False
    quirks: ChatQuirks = _PLAIN


_TABLE = (
    Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", quirks=OWN_QUIRKS),
    Provider(
        "grok", "https://api.x.ai/v1", "XAI_API_KEY",
        quirks=ChatQuirks(token_limit="max_completion_tokens", reasoning_apart=True),
    ),
    Provider("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    Provider(
        "deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY",
        quirks=ChatQuirks(token_limit="max_tokens", returned=("reasoning_content",)),
    ),
    Provider("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", quirks=_NEWER),
    Provider(
        "openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY",
        quirks=ChatQuirks(token_limit="max_tokens", returned=("reasoning_details",)),
    ),
    Provider("together", "https://api.together.ai/v1", "TOGETHER_API_KEY"),
    Provider("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    Provider("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    Provider("ollama", "http://localhost:11434/v1", "OLLAMA_API_KEY", key_optional=True),
)  # fmt: skip

PROVIDERS: Mapping[str, Provider] = MappingProxyType({provider.name: provider for provider in _TABLE})
"""The table, by name."""


def resolve_credentials(
    provider: str | Provider, *, api_key: str | None = None, env: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Return the base URL and the key of a provider: `api_key`, or its variable in `env` (the process's by default).

    Raises `ValueError` for an unknown name, and for a missing key.
    """
    found = _provider(provider)
    key = api_key or (os.environ if env is None else env).get(found.env_key)
    if not key and not found.key_optional:
        raise ValueError(
            f"no API key for provider {found.name!r}: pass api_key=... or set the {found.env_key} environment variable."
        )
    return found.base_url, key or NO_KEY


def openai_compatible_agent(
    provider: str | Provider, *, tools: ToolSet, model: str, system: str = "", api_key: str | None = None
) -> OpenAIAgent:
    """Return an agent for a provider's model, which owns its client. Raises what `resolve_credentials` raises."""
    base_url, key = resolve_credentials(provider, api_key=api_key)
    quirks = _provider(provider).quirks
    return OpenAIAgent(tools=tools, model=model, system=system, base_url=base_url, api_key=key, quirks=quirks)


def _provider(provider: str | Provider) -> Provider:
    if isinstance(provider, Provider):
        return provider
    found = PROVIDERS.get(provider)
    if found is None:
        raise ValueError(
            f"unknown provider {provider!r}. Known: {', '.join(sorted(PROVIDERS))}. "
            "For anything else, pass a Provider(...) or use OpenAIAgent(base_url=..., api_key=...)."
        )
    return found
