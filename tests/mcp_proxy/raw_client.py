"""A client that speaks JSON lines to a process: it sees each message of a server or proxy exactly as it was sent."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).parent
ADAPTERS = HERE.parent / "adapters"
PROXY = [sys.executable, "-m", "bobcat", "proxy"]
SECONDS = 20
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
ALL = "rules: [{id: all, match: {}, decision: allow}]"


def python(script: str | Path, *args: str | Path) -> list[str]:
    """The command of a test server."""
    return [sys.executable, str(script), *map(str, args)]


def proxied(policy: Path, command: Sequence[str], *options: str) -> list[str]:
    """The command of a proxy in front of a server."""
    return [*PROXY, "--policy", str(policy), *options, "--", *command]


class RawClient:
    """One process that serves MCP over standard input and output."""

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self.errors: list[str] = []
        self.others: list[dict[str, Any]] = []
        """The messages that answer none of the client's requests."""
        self._count = 0
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            raise
        finally:
            for thread in self._threads:
                thread.join(SECONDS)
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    stream.close()

    def send_text(self, text: str | bytes) -> None:
        """Write one line."""
        assert self.process.stdin is not None
        self.process.stdin.write((text.encode() if isinstance(text, str) else text) + b"\n")
        self.process.stdin.flush()

    def send(self, **message: Any) -> None:
        """Write one message."""
        self.send_text(json.dumps({"jsonrpc": "2.0", **message}))

    def line(self) -> bytes:
        """The next line; an empty one at the end."""
        return self.lines.get(timeout=SECONDS) or b""

    def message(self) -> dict[str, Any]:
        """The next message."""
        found: dict[str, Any] = json.loads(self.line())
        return found

    def begin(self, method: str, params: Any = None) -> int:
        """Send a request; return its id."""
        self._count += 1
        self.send(id=self._count, method=method, **({} if params is None else {"params": params}))
        return self._count

    def answer(self, id: int | str | None) -> dict[str, Any]:
        """The answer to a request. Other messages are kept."""
        while True:
            found = self.message()
            if "method" not in found and found.get("id") == id:
                return found
            self.others.append(found)

    def request(self, method: str, params: Any = None) -> dict[str, Any]:
        """The answer to a new request."""
        return self.answer(self.begin(method, params))

    def initialize(self, **capabilities: Any) -> dict[str, Any]:
        """Make the handshake; return its result."""
        found = self.request("initialize", {**HELLO, "capabilities": capabilities})
        self.send(method="notifications/initialized")
        result: dict[str, Any] = found["result"]
        return result

    def tools(self) -> list[str]:
        """The names of the listed tools."""
        return [tool["name"] for tool in self.request("tools/list")["result"]["tools"]]

    def call(self, name: str, **args: Any) -> dict[str, Any]:
        """The result or the error of a call."""
        found = self.request("tools/call", {"name": name, "arguments": args})
        result: dict[str, Any] = found.get("result") or found["error"]
        return result

    def wait(self) -> int:
        """The exit code of a process that ends by itself."""
        return self.process.wait(SECONDS)

    def stderr(self) -> str:
        """What the process has written on standard error; all of it when the process has ended."""
        if self.process.poll() is not None:
            self._threads[1].join(SECONDS)
        return "".join(self.errors)

    def stderr_with(self, *texts: str) -> str:
        """What the process has written on standard error, as soon as it has these texts, each as often as given."""
        deadline = time.monotonic() + SECONDS
        while any(self.stderr().count(text) < texts.count(text) for text in texts) and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.stderr()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line.decode("utf-8", "replace"))


def text(result: dict[str, Any]) -> str:
    """The text of a result."""
    return "\n".join(block["text"] for block in result["content"])


def alive(pid: int) -> bool:
    """Return true if a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "(zombie)" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc").exists() else True
