"""An MCP server whose tools are what a JSON file says at the moment; it notes the calls it gets in another file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TOOLS, CALLS = Path(sys.argv[1]), Path(sys.argv[2])


def _answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        server = {"name": "changing", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": json.loads(TOOLS.read_text())}
    if method == "tools/call":
        with CALLS.open("a") as calls:
            calls.write(json.dumps(params["arguments"]) + "\n")
        return {"content": [{"type": "text", "text": "sent"}], "structuredContent": {"id": "7"}}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = _answer(request["method"], request.get("params") or {})
    error = {"code": -32601, "message": "Method not found"}
    reply = {"result": result} if result is not None else {"error": error}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
