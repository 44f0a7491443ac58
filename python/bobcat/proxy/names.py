"""Names of tools and prompts where several servers stand behind one proxy."""

from __future__ import annotations

SEPARATOR = "__"
"""Between the name of a server and that of its tool: models' APIs accept no dots."""


def prefix_of(server: str) -> str:
    """What stands before the names of a server's tools."""
    return f"{server}{SEPARATOR}"
