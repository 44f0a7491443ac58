"""Messages to and from an agent, under lynx-agent's path."""

from bobcat.model.agent import Agent
from bobcat.model.run import AgentAction, FinalAnswer, Message, ToolCall

__all__ = ["Agent", "AgentAction", "FinalAnswer", "Message", "ToolCall"]
