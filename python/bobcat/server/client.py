"""A small client of a decision server. A server that cannot be reached, or answers anything else, is a denial."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.model.frozen import deep_freeze
from bobcat.model.request_json import obligation_of, request_to_json

UNREACHABLE = ("<default:decision_server>",)


class DecisionClient:
    """Asks one server; safe between threads. `url` is `http://HOST:PORT` or `unix:/path/of/socket`.

    A request carries its own time, as `request_to_json` writes it.
    """

    def __init__(self, url: str, *, token: str | None = None, timeout_seconds: float = 2.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https", "unix") or not (parts.netloc or parts.path):
            raise ValueError(f"not the URL of a decision server: {url!r}")
        self._parts = parts
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._seconds = timeout_seconds
        self._local = threading.local()

    def evaluate(self, request: ActionRequest) -> Decision:
        """Ask for a decision. Every fault is a denial with its reason."""
        try:
            status, body = self._ask("/v1/decide", request_to_json(request).encode())
            data = json.loads(body)
            if status != 200:
                raise ValueError(f"HTTP {status}: {data['error']['message']}")
            return _decision(data)
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, AttributeError) as error:
            self.close()
            reason = f"no decision from the server ({type(error).__name__}: {error}); denied"
            return Decision(Verdict.DENY, reason, UNREACHABLE)

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, path: str, body: bytes) -> tuple[int, bytes]:
        for last in (False, True):
            connection = getattr(self._local, "connection", None)
            fresh = connection is None
            if connection is None:
                connection = self._local.connection = self._connect()
            try:
                connection.request("POST", path, body, self._headers)
                answer = connection.getresponse()
                return answer.status, answer.read()
            except (ConnectionError, http.client.BadStatusLine):  # the server closed an idle connection
                self.close()
                if fresh or last:
                    raise
        raise ConnectionError("not reached")

    def _connect(self) -> http.client.HTTPConnection:
        if self._parts.scheme == "unix":
            return _UnixConnection(self._parts.path, self._seconds)
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        return kind(self._parts.hostname or "", self._parts.port, timeout=self._seconds)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        if not hasattr(socket, "AF_UNIX"):
            raise OSError("this platform has no Unix sockets")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _decision(data: Mapping[str, Any]) -> Decision:  # Any: JSON
    """The decision in an answer. Raises for anything else."""
    args = data["transform_args"]
    if args is not None and not isinstance(args, dict):
        raise TypeError("`transform_args` is not an object")
    return Decision(
        Verdict(data["verdict"]),
        data["reason"],
        tuple(data["matched_rules"]),
        tuple(data["approvers"]),
        None if args is None else deep_freeze(args),
        data["timeout_seconds"],
        approvals_needed=data["approvals_needed"],
        obligations=tuple(obligation_of(each) for each in data.get("obligations", ())),
    )
