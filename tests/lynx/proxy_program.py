"""A program for lynx-agent 2.11: `serve_mcp_proxy` in front of the server whose command is in the arguments."""

from __future__ import annotations

import asyncio
import sys

from lynx import ApprovalDecision, ToolMetadata, compile_policy, hash_chained_sink
from lynx.proxy.mcp_proxy import ToolClassifier, serve_mcp_proxy

POLICY = """
rules:
  - {id: add, match: {tool: add, args.a.between: [0, 10]}, decision: allow}
  - id: wide
    match: {tool: add, args.a.between: [11, 20]}
    decision: transform
    transform: {jsonpath: $.args.a, set: 10}
  - {id: safe, match: {declared.scope.contains: safe}, decision: allow}
  - {id: lines, match: {tool: lines}, decision: approve_required, approvers: [ann]}
  - {id: tag, match: {tool: notes.tag}, decision: dry_run}
  - {id: odd, match: {tool: odd}, decision: allow}
  - {id: rest, match: {}, decision: deny, reason: not for agents}
"""


async def approve(request):
    """Grant one line."""
    return ApprovalDecision(request.request.args.get("count") == 1, "ann")


def main(path: str, *command: str) -> None:
    """Serve."""
    classify = ToolClassifier(overrides={"fail": ToolMetadata("low", True, ("safe",))})
    with open(path, "a", encoding="utf-8") as file:
        serving = serve_mcp_proxy(
            list(command), policy=compile_policy(POLICY), sinks=[hash_chained_sink(file)], on_approval=approve,
            classify=classify, server_name="notes",
        )  # fmt: skip
        asyncio.run(serving)


main(*sys.argv[1:])
