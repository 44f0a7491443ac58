"""The governing proxy of an MCP server, under lynx-agent's path."""

from bobcat.lynx.v2_11.proxy.governed import (
    GovernedProxy,
    ToolClassifier,
    default_classify,
    govern_call,
)
from bobcat.lynx.v2_11.proxy.governed import GovernResult as GovernResult  # importable from here, but not in `__all__`
from bobcat.lynx.v2_11.proxy.governed import UpstreamCaller as UpstreamCaller
from bobcat.lynx.v2_11.proxy.governed import build_toolset as build_toolset
from bobcat.lynx.v2_11.proxy.serving import serve_mcp_proxy

__all__ = ["GovernedProxy", "ToolClassifier", "default_classify", "govern_call", "serve_mcp_proxy"]
