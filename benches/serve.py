"""Decisions over HTTP: batches a second, and the latency of single requests at a fixed rate, over a Unix socket.

    python benches/serve.py [--rules N] [--rate N] [--seconds N]

The server is a process of its own; the client shares the machine with it.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import cast

from bobcat import Policy

BATCH = 1_000
CONNECTIONS = 8


class Connection(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=30)
        self._place = str(path)

    def connect(self) -> None:
        """Connect."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self._place)


def policy(rules: int) -> Policy:
    """A policy with one rule a tool."""
    listed = [
        {"match": {"tool": f"tool{i}", "args.path.starts_with": f"/data/{i}/"}, "decision": "allow"}
        for i in range(rules)
    ]
    return Policy.compile({"rules": listed})


def posted(connection: Connection, path: str, body: bytes) -> bytes:
    """Post and read the answer."""
    connection.request("POST", path, body)
    answer = connection.getresponse()
    data = answer.read()
    if answer.status != 200:
        raise RuntimeError(data.decode())
    return data


def main() -> None:
    """Start a server and measure it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=int, default=1_000)
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        policy(given.rules).save(folder / "policy.bundle")
        command = [sys.executable, "-m", "bobcat", "serve", str(folder / "policy.bundle"), "--uds", str(folder / "s")]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
            try:
                while not (folder / "s").is_socket():
                    time.sleep(0.05)
                measure(folder / "s", given.rules, given.rate, given.seconds)
            finally:
                server.terminate()


def measure(place: Path, rules: int, rate: int, seconds: float) -> None:
    """Print the figures."""
    requests = [{"tool": f"tool{i % rules}", "args": {"path": f"/data/{i % rules}/file"}} for i in range(BATCH)]
    lines = "\n".join(map(json.dumps, requests)).encode()
    connection = Connection(place)
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        posted(connection, "/v1/decide-many", lines)
        count += BATCH
    print(f"batches of {BATCH}: {count / (time.perf_counter() - began):,.0f} decisions/s")
    evaluation = {
        "subject": {"type": "user", "id": "alice"},
        "action": {"name": "tool1", "properties": {"path": "/data/1/file"}},
        "resource": {"type": "file", "id": "x"},
    }
    late = sleeps(rate, seconds)
    print(f"sleeps of 1/{rate} s of this machine, without requests: {quantiles(late)} late")
    times = singles(place, json.dumps(evaluation).encode(), rate, seconds)
    print(f"single at {rate}/s over {CONNECTIONS} connections: {quantiles(times)}")


def quantiles(times: list[float]) -> str:
    """The quantiles of times in milliseconds, as text."""
    cuts = statistics.quantiles(times, n=1000)
    return f"median {statistics.median(times):.2f} ms, 99 % {cuts[989]:.2f} ms, 99.9 % {cuts[998]:.2f} ms"


def sleeps(rate: int, seconds: float) -> list[float]:
    """The delays of sleeps in milliseconds: below them, no client of this machine can measure."""
    times = list[float]()
    for _ in range(int(rate * seconds)):
        due = time.perf_counter() + 1 / rate
        time.sleep(1 / rate)
        times.append(1e3 * (time.perf_counter() - due))
    return times


def singles(place: Path, body: bytes, rate: int, seconds: float) -> list[float]:
    """The latencies in milliseconds of requests that are sent at a fixed rate, each by a connection that is free.

    A time begins when the request is due: one that is sent late, because all connections wait, counts as late.
    """
    text = b"POST /access/v1/evaluation HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    message = text + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    selector, free, times = selectors.DefaultSelector(), list[socket.socket](), list[float]()
    with selector, contextlib.ExitStack() as opened:
        for _ in range(CONNECTIONS):
            connection = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            connection.connect(str(place))
            selector.register(connection, selectors.EVENT_READ)
            free.append(connection)
        begun, answers = dict[socket.socket, float](), defaultdict[socket.socket, bytes](bytes)
        start, sent, count = time.perf_counter(), 0, int(rate * seconds)
        while len(times) < count:
            now = time.perf_counter()
            while sent < count and free and (due := start + sent / rate) <= now:
                connection = free.pop()
                connection.sendall(message)
                begun[connection] = due
                sent += 1
            wait = max(0.0, start + sent / rate - time.perf_counter()) if sent < count and free else None
            for key, _ in selector.select(wait):
                connection = cast("socket.socket", key.fileobj)
                answers[connection] += (part := connection.recv(65536))
                if part and not part.endswith(b"}"):  # the head; the body follows
                    continue
                answer = answers.pop(connection)
                if not answer.startswith(b"HTTP/1.1 200") or b'"decision":true' not in answer:
                    raise RuntimeError(answer.decode())
                times.append(1e3 * (time.perf_counter() - begun.pop(connection)))
                free.append(connection)
    return times


if __name__ == "__main__":
    main()
