"""`/healthz`, `/readyz` and `/metrics` of a worker, by a thread: it also answers while the event loop is blocked."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Coroutine
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bobcat.text.prometheus import METRICS_TYPE
from bobcat.workers.health import Health

REQUEST_SECONDS = 5.0
"""Time limit of a connection, and of the metrics that the event loop makes."""

Metrics = Callable[[], Coroutine[Any, Any, str]]
"""Makes the metrics in the text format of Prometheus, on the event loop."""


class HealthServer:
    """Serves `GET` on an address until it is closed. Raises `OSError` where it cannot listen."""

    def __init__(self, host: str, port: int, health: Health, metrics: Metrics) -> None:
        loop = asyncio.get_running_loop()

        class Handler(BaseHTTPRequestHandler):
            timeout = REQUEST_SECONDS
            server_version, sys_version = "bobcat", ""

            def do_GET(self) -> None:
                """Answer a probe or a scrape."""
                match self.path.partition("?")[0]:
                    case "/healthz":
                        self._answer(200 if health.is_live() else 503, health.to_json())
                    case "/readyz":
                        self._answer(200 if health.is_ready() else 503, health.to_json())
                    case "/metrics":
                        self._metrics()
                    case _:
                        self._answer(404, {"error": "only /healthz, /readyz and /metrics"})

            do_HEAD = do_GET

            def _metrics(self) -> None:
                future = asyncio.run_coroutine_threadsafe(metrics(), loop)
                try:
                    text = future.result(REQUEST_SECONDS)
                except Exception:  # the loop is blocked, or the store does not answer
                    future.cancel()
                    self._answer(503, {"error": "the worker did not answer"})
                    return
                self._send(200, METRICS_TYPE, text.encode())

            def _answer(self, code: int, body: dict[str, Any]) -> None:  # Any: JSON
                self._send(code, "application/json", json.dumps(body).encode() + b"\n")

            def _send(self, code: int, kind: str, content: bytes) -> None:
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing: probes come every few seconds."""

        class Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
            daemon_threads = True

        self._server = Server((host, port), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="bobcat health", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> tuple[str, int]:
        """The host and the port, also where port 0 was given."""
        host, port = self._server.server_address[:2]
        return str(host), int(port)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
