"""A local HTTP server that answers like a vendor's API: scripted responses, recorded requests."""

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
            body = json.dumps(reply).encode()
            self.send_response(reply.get("status", 200))
            self.send_header("Content-Type", "application/json")
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
