"""Under lynx-agent 2.11's path: see `bobcat.adapters.providers`."""

from bobcat.adapters.providers import PROVIDERS, Provider, openai_compatible_agent, resolve_credentials

__all__ = ["PROVIDERS", "Provider", "openai_compatible_agent", "resolve_credentials"]
