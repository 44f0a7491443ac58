"""A local HTTP server that streams scripted bytes, as vendors' APIs do: slowly, split anywhere, cut off."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

CUT: Final = "cut"
"""Ends the connection amid the response."""


@dataclass(frozen=True)
class Refusal:
    """A response with another status than 200, and no stream."""

    status: int
    body: dict[str, Any]
    headers: tuple[tuple[str, str], ...] = ()


Part = bytes | float | str | Callable[[], object] | Refusal
"""Bytes to send, seconds to pause, `CUT`, a function that returns when the next part may go out, or a `Refusal`."""


class Streams:
    """`requests` are the bodies the server got; `url` is where it listens."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.url = ""


@contextmanager
def streaming(*scripts: Iterable[Part]) -> Iterator[Streams]:
    """Serve one script per request, as chunks of `text/event-stream`."""
    streams, left = Streams(), [list(script) for script in scripts]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            streams.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            script = left.pop(0)
            if script and isinstance(script[0], Refusal):
                self._refuse(script[0])
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for part in script:
                if isinstance(part, float):
                    time.sleep(part)
                elif isinstance(part, bytes):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                elif callable(part):
                    part()
                else:
                    self.close_connection = True
                    return
            self.wfile.write(b"0\r\n\r\n")

        def _refuse(self, refusal: Refusal) -> None:
            body = json.dumps(refusal.body).encode()
            self.send_response(refusal.status)
            for name, value in (
                *refusal.headers,
                ("Content-Type", "application/json"),
                ("Content-Length", str(len(body))),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    streams.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield streams
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def event(data: dict[str, Any], *, named: bool) -> bytes:
    """One server-sent event; `named` as Anthropic's."""
    name = f"event: {data['type']}\n" if named else ""
    return f"{name}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def chat_chunks(reply: dict[str, Any], *, size: int = 5, usage: bool = True) -> list[bytes]:
    """A response of a Chat Completions API as the chunks that OpenAI would stream."""
    head = {"id": reply["id"], "object": "chat.completion.chunk", "created": 1, "model": reply["model"]}
    deltas: list[tuple[dict[str, Any], str | None]] = []
    for choice in reply["choices"]:
        message = choice["message"]
        deltas.append(({"role": "assistant", "content": None}, None))
        for name in ("content", "refusal"):
            text = message.get(name) or ""
            deltas += [({name: text[at : at + size]}, None) for at in range(0, len(text), size)]
        for index, call in enumerate(message.get("tool_calls") or ()):
            deltas += [({"tool_calls": [part]}, None) for part in _call_parts(index, call, size)]
        deltas.append(({}, choice["finish_reason"]))
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None}
        for delta, finish in deltas
    ]
    if usage and reply.get("usage") is not None:
        chunks.append({**head, "choices": [], "usage": reply["usage"]})
    return [*(event(chunk, named=False) for chunk in chunks), b"data: [DONE]\n\n"]


def _call_parts(index: int, call: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    kind = call["type"]
    field = "arguments" if kind == "function" else "input"
    text = call[kind][field]
    yield {"index": index, "id": call["id"], "type": kind, kind: {**call[kind], field: ""}}
    for at in range(0, len(text), size):
        yield {"index": index, kind: {field: text[at : at + size]}}
