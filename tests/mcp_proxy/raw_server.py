"""A hand-written MCP server whose answers no SDK would write: unknown fields, odd numbers, broken lines.

Its first argument names a behaviour; `CALLS` in the environment is a file that gets a line for each call.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

MODE = sys.argv[1] if len(sys.argv) > 1 else "plain"
OBJECT = {"type": "object"}
TOOLS = (
    '{"name": "odd", "inputSchema": {"type": "object"}, "x-unknown": [1.0, 1e2, null], "_meta": {"a/b": "\\u00e9"}, '
    '"icons": [{"src": "data:,"}], "execution": {"taskSupport": "optional"}}'
)
RESULT = (
    '{"unknown": {"deep": [null, 1e2, 1.50, -0.0, 12345678901234567890123, "\\u2028\\ud83d\\ude00"]}, "content": '
    '[{"type": "text", "text": "caf\\u00e9\u2028", "_meta": {"n": null}}, {"type": "hologram", "data": 1e-7}], '
    '"structuredContent": {"b": 1, "a": 2.0}, "_meta": {"x/y": [ 1 , 2 ]}}'
)


def write(text: str) -> None:
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.flush()


def answer(id: Any, result: str) -> None:
    write(f'{{"jsonrpc": "2.0", "id": {json.dumps(id)}, "result": {result}, "extra": 1}}')


def fail(id: Any, problem: str) -> None:
    write(f'{{"jsonrpc": "2.0", "id": {json.dumps(id)}, "error": {problem}}}')


def listed() -> str:
    if MODE == "twins":
        one = '{"name": "odd", "inputSchema": {"type": "object"}, "name": "other"}'
        return f'{{"tools": [{one}, {{"name": "bad\\u202ename", "inputSchema": {{}}}}, {{"name": 7}}, 8, {TOOLS}]}}'
    return f'{{"tools": [{TOOLS}], "x": null}}'


def called(id: Any, params: dict[str, Any]) -> None:
    if "CALLS" in os.environ:
        with Path(os.environ["CALLS"]).open("a") as calls:
            calls.write(json.dumps(params) + "\n")
    name = params.get("arguments", {}).get("do", "answer")
    if name == "hang":
        return
    if name == "die":
        os._exit(7)
    if name == "error":
        fail(id, '{"code": -5, "message": "no", "data": [1e2]}')
    elif name == "twice":
        answer(id, RESULT)
        answer(id, '{"content": []}')
        answer("no such id", "{}")
    elif name == "noise":
        write("this is no message")
        write('{"jsonrpc": "2.0"}')
        write("[]")
        write('{"jsonrpc": "2.0", "method": "notifications/unknown", "params": {"n": 1e2}}')
        answer(id, RESULT)
    else:
        answer(id, RESULT)


def main() -> None:
    if MODE == "stubborn":
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        message = json.loads(line)
        method, id = message.get("method"), message.get("id")
        if method == "notifications/cancelled" and MODE == "plain":
            answer(message["params"]["requestId"], '{"content": [{"type": "text", "text": "cancelled"}]}')
        if MODE == "anonymous" and method == "tools/call":
            called(id, message["params"])
            continue
        if id is None or method is None:
            continue
        if method == "initialize":
            server = '{"name": "raw", "version": "1", "x": 1e2}'
            capabilities = '{"tools": {}, "experimental": {"a": {"b": null}}}'
            head = f'"protocolVersion": {json.dumps(message["params"]["protocolVersion"])}'
            answer(id, f'{{{head}, "serverInfo": {server}, "capabilities": {capabilities}, "y": [1.0]}}')
        elif method == "tools/list":
            answer(id, listed())
        elif method == "tools/call":
            called(id, message["params"])
        elif method == "echo":
            answer(id, json.dumps(message.get("params")))
        else:
            fail(id, '{"code": -32601, "message": "what?"}')
    if MODE == "stubborn":
        time.sleep(3600)


main()
