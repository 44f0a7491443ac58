"""A local HTTP server that answers like a vendor's API: scripted responses, recorded requests.

A message of the Messages API that is asked for with `stream` goes out as its events, `cut_after` of them where it says.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Vendor:
    """The server's side: `requests` are the bodies it got, `paths` where they went; `replies` go out in order."""

    def __init__(self, *replies: dict[str, Any]) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.url = ""


@contextmanager
def serving(*replies: dict[str, Any]) -> Iterator[Vendor]:
    """Serve `replies`, one per request. A reply with `status` is an error of that status."""
    vendor = Vendor(*replies)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            vendor.requests.append(json.loads(self.rfile.read(length)))
            vendor.paths.append(self.path)
            reply = vendor.replies.pop(0)
            streamed = vendor.requests[-1].get("stream") is True and reply.get("type") == "message"
            body = message_events(reply) if streamed else json.dumps(reply).encode()
            status = reply.get("status")  # of a response of OpenAI's, a word
            self.send_response(status if isinstance(status, int) else 200)
            self.send_header("Content-Type", "text/event-stream" if streamed else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    vendor.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield vendor
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def message_events(message: dict[str, Any]) -> bytes:
    """A message as the events that make it up."""
    usage = message["usage"]
    begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(message["content"]):
        empty, deltas = _deltas(block)
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["output_tokens"]}})
    events.append({"type": "message_stop"})
    events = events[: message.get("cut_after")]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def _deltas(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it begins, and what is added to it."""
    match block["type"]:
        case "text":
            halves = block["text"][:3], block["text"][3:]
            return {**block, "text": ""}, [{"type": "text_delta", "text": half} for half in halves]
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [thought, signed]
        case "tool_use":
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        case _:
            return block, []
