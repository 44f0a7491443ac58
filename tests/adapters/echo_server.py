"""An MCP server written by hand: its tools have the schemas of a JSON file, and answer with the arguments they got."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SCHEMAS = json.loads(Path(sys.argv[1]).read_text())


def _answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        server = {"name": "echo", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": schema} for name, schema in SCHEMAS.items()]}
    if method == "tools/call":
        text = json.dumps({"tool": params["name"], "got": params.get("arguments")})
        return {"content": [{"type": "text", "text": text}]}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = _answer(request["method"], request.get("params") or {})
    reply = {"result": result} if result is not None else {"error": {"code": -32601, "message": "Method not found"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
