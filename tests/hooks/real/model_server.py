"""A model on this machine: it calls one tool, then says that it has finished, in the APIs of Anthropic and OpenAI.

The hosts stream; a request that offers no tools (a title, a summary) gets a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

DONE = "finished"


@dataclass
class Model:
    """The calls that the model makes, one a turn, and the results that came back."""

    port: int = 0
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.port}"

    def next_call(self, results: list[str]) -> tuple[str, dict[str, Any]] | None:
        """Note the results of the conversation; the call of this turn, None at the end."""
        self.results = results
        return self.calls[len(results)] if len(results) < len(self.calls) else None


@contextmanager
def serving(*calls: tuple[str, dict[str, Any]]) -> Iterator[Model]:
    """Serve a model that makes these calls."""
    model = Model(calls=list(calls))

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Stay silent."""

        def do_HEAD(self) -> None:
            self._send("text/plain", b"")

        def do_GET(self) -> None:
            self._send("application/json", b'{"data": [], "models": []}')

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if "/messages/count_tokens" in self.path:
                self._send("application/json", b'{"input_tokens": 1}')
            elif "/messages" in self.path:
                self._send("text/event-stream", _events(_anthropic(model, body)))
            elif "/responses" in self.path:
                self._send("text/event-stream", _events(_openai(model, body)))
            else:
                self._send("application/json", b"{}")

        def _send(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        model.port = server.server_address[1]
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield model
        finally:
            server.shutdown()


def _events(events: Iterator[dict[str, Any]]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def _anthropic(model: Model, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    blocks = [
        block
        for message in body.get("messages", [])
        for block in (message["content"] if isinstance(message["content"], list) else [])
    ]
    results = [json.dumps(block.get("content")) for block in blocks if block.get("type") == "tool_result"]
    call = model.next_call(results) if body.get("tools") else None
    yield {
        "type": "message_start",
        "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    }  # fmt: skip
    if call is None:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": DONE}
    else:
        block = {"type": "tool_use", "id": f"toolu_{len(results)}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if call is None else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 2}}
    yield {"type": "message_stop"}


def _openai(model: Model, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    results = [
        json.dumps(item.get("output"))
        for item in body.get("input", [])
        if str(item.get("type", "")).endswith("_call_output")
    ]
    call = model.next_call(results) if body.get("tools") else None
    if call is None:
        item = {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": DONE}]}
    else:
        item = {
            "type": "function_call", "call_id": f"call_{len(results)}", "name": call[0],
            "arguments": json.dumps(call[1]),
        }  # fmt: skip
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": None}
    yield {"type": "response.created", "response": {"id": "r1"}}
    yield {"type": "response.output_item.done", "item": item}
    yield {"type": "response.completed", "response": {"id": "r1", "usage": {**usage, "output_tokens_details": None}}}
