"""An MCP server over streamable HTTP that closes the stream of a call, and answers on the next connection: `PORT`."""

from __future__ import annotations

import asyncio
import sys

from mcp.server.fastmcp import Context, FastMCP
from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.types import JSONRPCMessage


class Events(EventStore):
    """All events, in memory."""

    def __init__(self) -> None:
        self._events: list[tuple[StreamId, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        stream = self._events[int(last_event_id) - 1][0]
        for number, (each, message) in enumerate(self._events[int(last_event_id) :], int(last_event_id) + 1):
            if each == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


server = FastMCP("polling", port=int(sys.argv[1]), event_store=Events(), retry_interval=100)


@server.tool(structured_output=False)
async def slow(ctx: Context) -> str:
    await ctx.close_sse_stream()
    await asyncio.sleep(0.5)
    return "late"


server.run("streamable-http")
