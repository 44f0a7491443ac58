"""A hand-written MCP server for behaviour that no well-behaved server has. Its one argument selects the behaviour."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

ODDITY = sys.argv[1]
SCHEMA = {"type": "object", "properties": {}}


def _tools(cursor: str | None) -> dict[str, Any]:
    if ODDITY == "twice":
        return {"tools": [{"name": "same", "inputSchema": SCHEMA}] * 2}
    if ODDITY == "endless":
        return {"tools": [], "nextCursor": "more"}
    page = int(cursor or 0)
    found: dict[str, Any] = {"tools": [{"name": f"tool{page}", "inputSchema": SCHEMA}]}
    return {**found, "nextCursor": str(page + 1)} if page < 2 else found


def _result(name: str) -> dict[str, Any]:
    if name == "tool0":
        return {"content": [], "isError": True}
    if name == "tool1":
        return {"content": [], "structuredContent": {"rows": 3}}
    text = {"uri": "file:///a.txt", "text": "the text of a.txt"}
    blob = {"uri": "file:///b.bin", "mimeType": "application/x-b", "blob": "AAEC"}
    return {
        "content": [
            {"type": "text", "text": "see:"},
            {"type": "resource", "resource": text},
            {"type": "resource", "resource": blob},
            {"type": "resource_link", "uri": "file:///c", "name": "c"},
            {"type": "audio", "data": "AAECAw==", "mimeType": "audio/wav"},
        ]
    }


def _answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        server = {"name": "odd", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list" and ODDITY != "toolless":
        return _tools(params.get("cursor"))
    return _result(params["name"]) if method == "tools/call" else None


for line in sys.stdin:
    if ODDITY == "silent":
        time.sleep(3600)
    request = json.loads(line)
    if "id" not in request:
        continue
    result = _answer(request["method"], request.get("params") or {})
    error = {"code": -32601, "message": "Method not found"}
    reply = {"result": result} if result is not None else {"error": error}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
