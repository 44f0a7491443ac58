"""Claude Agent SDK: a session of the real Claude Code with a fake server of the Messages API, and tools over MCP."""

from __future__ import annotations

import asyncio
import inspect
import json
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ResultMessage,
    ToolResultBlock,
    UserMessage,
    create_sdk_mcp_server,
    query,
    tool,
)

from bobcat.guards.claude_agent_sdk import guarded_options
from doors.adapter import Observed, Proposal, Setup

PREFIX = "mcp__shop__"
INTERRUPTS = False
MODES = [("async", "plain")]
TIME = 60
"""Seconds that a session may take."""


@contextmanager
def model(turns: Sequence[Sequence[Proposal]]) -> Iterator[dict[str, str]]:
    """Serve a model that proposes the calls of its turns, and then says `done`; yield Claude Code's environment."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._send("text/plain", b"")

        do_GET = do_HEAD

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turn = sum(each["role"] == "assistant" for each in body.get("messages", ()))
            calls = turns[turn] if turn < len(turns) and body.get("tools") else ()
            self._send("text/event-stream", b"".join(_events(calls)))

        def _send(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield {
                "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}",
                "ANTHROPIC_API_KEY": "x",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1",
            }
        finally:
            server.shutdown()


def _events(calls: Sequence[Proposal]) -> Iterator[bytes]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    begun = {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": usage,
    }
    yield _event({"type": "message_start", "message": {**begun, "stop_reason": None, "stop_sequence": None}})
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (
            {"type": "tool_use", "id": call.id, "name": call.tool, "input": {}},
            {"type": "input_json_delta", "partial_json": json.dumps(dict(call.args))},
        )
        for call in calls
    ]
    for at, (block, delta) in enumerate(
        blocks or [({"type": "text", "text": ""}, {"type": "text_delta", "text": "done"})]
    ):
        yield _event({"type": "content_block_start", "index": at, "content_block": block})
        yield _event({"type": "content_block_delta", "index": at, "delta": delta})
        yield _event({"type": "content_block_stop", "index": at})
    reason = "tool_use" if calls else "end_turn"
    yield _event({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage})
    yield _event({"type": "message_stop"})


def _event(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def as_tool(function: Any) -> Any:
    """A tool of an MCP server in this process."""
    parameters = inspect.signature(function).parameters.values()
    types = {"str": "string", "int": "integer"}
    schema = {
        "type": "object",
        "properties": {each.name: {"type": types[str(each.annotation)]} for each in parameters},
        "required": [each.name for each in parameters if each.default is inspect.Parameter.empty],
    }

    async def call(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": function(**args)}]}

    return tool(function.__name__, function.__doc__, schema)(call)


async def observe(options: ClaudeAgentOptions, observed: Observed) -> None:
    """Run a session, and note the results of calls and the end."""
    async for message in query(prompt="go", options=options):
        if isinstance(message, UserMessage):
            for block in message.content:
                if isinstance(block, ToolResultBlock):
                    observed.replies.append((block.tool_use_id, json.dumps(block.content)))
        elif isinstance(message, ResultMessage):
            observed.final = message.result


async def run(setup: Setup) -> Observed:
    """Run a session of Claude Code."""
    observed = Observed()
    server = create_sdk_mcp_server("shop", tools=[as_tool(each) for each in setup.functions])
    try:
        with model(setup.turns) as environment, tempfile.TemporaryDirectory() as place:
            options = ClaudeAgentOptions(cwd=place, mcp_servers={"shop": server}, env={**environment, "HOME": place})
            async with asyncio.timeout(TIME):
                await observe(guarded_options(options, setup.guard), observed)
    except Exception as error:
        observed.error = error
    return observed
