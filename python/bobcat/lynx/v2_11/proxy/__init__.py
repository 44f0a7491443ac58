"""The governing MCP proxy, under lynx-agent's path."""
