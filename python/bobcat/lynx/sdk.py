"""What an agent says and is told, under lynx-agent's path."""

from bobcat.agent import Agent
from bobcat.model import AgentAction, FinalAnswer, Message, ToolCall

__all__ = ["Agent", "AgentAction", "FinalAnswer", "Message", "ToolCall"]
