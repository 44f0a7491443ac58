"""Under lynx-agent's path: see `bobcat.adapters.mcp`."""

from bobcat.adapters.mcp import mcp_tools

__all__ = ["mcp_tools"]
