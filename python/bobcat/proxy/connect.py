"""The transport of a server: a child process, or streamable HTTP."""

from __future__ import annotations

from bobcat.proxy.upstream import Server, Upstream


def connection_to(server: Server) -> Upstream:
    """A new connection, not started."""
    if server.url:
        from bobcat.proxy.http_upstream import HttpUpstream  # needs the extra

        return HttpUpstream(server.name, server.url, server.headers)
    from bobcat.proxy.stdio_upstream import StdioUpstream

    return StdioUpstream(server.name, server.command, server.env)
