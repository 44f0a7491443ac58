"""Cost of `bobcat proxy` for each call: a server that does nothing, over standard input and output.

    python benches/mcp_proxy.py [--calls N] [--rules N]

Calls are made one after the other, in turns of a hundred of each way, so that all ways share the state of the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

TURN = 100
SERVER = """
import json, sys
TOOL = {"name": "nothing", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        about = {"name": "n", "version": "1"}
        found = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif message["method"] == "tools/list":
        found = {"tools": [TOOL]}
    else:
        found = {"content": [{"type": "text", "text": "done"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": found}), flush=True)
"""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Peer:
    """A process that serves MCP."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._count = 0
        self.seconds: list[float] = []
        self.ask("initialize", HELLO)

    def ask(self, method: str, params: object) -> None:
        """Make a request and wait for its answer."""
        self._count += 1
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if answer["id"] != self._count or "error" in answer or answer["result"].get("isError"):
            raise RuntimeError(answer)

    def turn(self) -> None:
        """Time some calls."""
        for number in range(TURN):
            start = time.perf_counter()
            self.ask("tools/call", {"name": "nothing", "arguments": {"n": number}})
            self.seconds.append(time.perf_counter() - start)

    def cpu(self) -> float:
        """CPU seconds of the process, without its children; 0 where the system does not say."""
        path = Path(f"/proc/{self._process.pid}/stat")
        if not path.exists():
            return 0.0
        fields = path.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)


def main() -> None:
    """Measure each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--rules", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        server, policy, pins = Path(place) / "server.py", Path(place) / "policy.yaml", Path(place) / "pins.json"
        server.write_text(SERVER)
        rules = [{"match": {"tool": f"other{n}"}, "decision": "deny"} for n in range(options.rules)]
        rules.append({"match": {"tool": "nothing", "args.n.ge": 0}, "decision": "allow"})
        policy.write_text(json.dumps({"rules": rules}))
        direct = [sys.executable, str(server)]
        proxy = [sys.executable, "-m", "bobcat", "proxy", "--policy", str(policy)]
        ways = {
            "without the proxy": direct,
            "proxy": [*proxy, "--", *direct],
            "proxy, pins": [*proxy, "--pins", str(pins), "--pin-new", "--", *direct],
            "proxy, JSONL log": [*proxy, "--log", str(Path(place) / "calls.jsonl"), "--", *direct],
            "proxy, SQLite log": [*proxy, "--log", str(Path(place) / "calls.db"), "--", *direct],
        }
        peers = {name: Peer(command) for name, command in ways.items()}
        for peer in peers.values():
            stack.callback(peer.close)
            peer.turn()
            peer.seconds.clear()
        before = {name: peer.cpu() for name, peer in peers.items()}
        for _ in range(max(options.calls // TURN, 1)):
            for peer in peers.values():
                peer.turn()
        print(f"{options.rules + 1} rules, {options.calls} calls, microseconds a call: median, 99th percentile, CPU")
        for name, peer in peers.items():
            cuts = statistics.quantiles(peer.seconds, n=100)
            cpu = (peer.cpu() - before[name]) / len(peer.seconds)
            print(f"{name:<20} {statistics.median(peer.seconds) * 1e6:8.0f} {cuts[98] * 1e6:8.0f} {cpu * 1e6:8.0f}")


if __name__ == "__main__":
    main()
