"""Under lynx-agent's path: see `bobcat.adapters.langgraph_adapter`."""

from bobcat.adapters.langgraph_adapter import LangGraphAgent

__all__ = ["LangGraphAgent"]
