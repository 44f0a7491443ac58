"""Under lynx-agent's path: see `bobcat.adapters.anthropic_sdk`."""

from bobcat.adapters.anthropic_sdk import ClaudeAgent

__all__ = ["ClaudeAgent"]
