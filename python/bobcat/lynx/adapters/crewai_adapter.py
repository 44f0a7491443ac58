"""Under lynx-agent's path: see `bobcat.adapters.crewai_adapter`."""

from bobcat.adapters.crewai_adapter import CrewAIAgent

__all__ = ["CrewAIAgent"]
