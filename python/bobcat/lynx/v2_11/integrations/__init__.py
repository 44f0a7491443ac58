"""Governed calls of agent frameworks, under lynx-agent's path."""

from bobcat.lynx.v2_11.integrations.core import GovernedCall, ToolGuard

__all__ = ["GovernedCall", "ToolGuard"]
