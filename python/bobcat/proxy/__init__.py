"""A proxy in front of MCP servers: every tool call passes a `Guard`, everything else passes unchanged.

It works on the messages of JSON-RPC, not on the types of an SDK, so that fields which no release knows yet are kept.
`docs/how-to/mcp-proxy.md` describes its use.
"""
