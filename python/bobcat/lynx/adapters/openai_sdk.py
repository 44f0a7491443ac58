"""Under lynx-agent's path: see `bobcat.adapters.openai_sdk`."""

from bobcat.adapters.openai_sdk import OpenAIAgent

__all__ = ["OpenAIAgent"]
