"""Handoff graphs as lynx-agent 2.11 has them: a node has caps by default."""

from bobcat.graph import GraphNode

__all__ = ["GraphNode"]
