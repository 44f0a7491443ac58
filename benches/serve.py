"""Decisions over HTTP: batches a second, and the latency of single requests at a fixed rate, over a Unix socket.

    python benches/serve.py [--rules N] [--rate N] [--seconds N]

The server is a process of its own; the client shares the machine with it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bobcat import Policy

BATCH = 1_000


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
                measure(Connection(folder / "s"), given.rules, given.rate, given.seconds)
            finally:
                server.terminate()


def measure(connection: Connection, rules: int, rate: int, seconds: float) -> None:
    """Print the figures."""
    requests = [{"tool": f"tool{i % rules}", "args": {"path": f"/data/{i % rules}/file"}} for i in range(BATCH)]
    lines = "\n".join(map(json.dumps, requests)).encode()
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
    body, times = json.dumps(evaluation).encode(), list[float]()
    start = time.perf_counter()
    for number in range(int(rate * seconds)):
        due = start + number / rate
        while (left := due - time.perf_counter()) > 0:
            time.sleep(left)
        posted(connection, "/access/v1/evaluation", body)
        times.append(1e3 * (time.perf_counter() - due))  # from when it was due: a late one counts as late
    cuts = statistics.quantiles(times, n=1000)
    median = statistics.median(times)
    print(f"single at {rate}/s: median {median:.2f} ms, 99 % {cuts[989]:.2f} ms, 99.9 % {cuts[998]:.2f} ms")


if __name__ == "__main__":
    main()
