"""The whole gate of one tool call: build the request, decide, mediate a tool that does nothing, emit to no sink."""

from __future__ import annotations

import asyncio
import gc
import time
from datetime import UTC, datetime
from typing import Any

import bobcat
from bobcat.approvals import auto_deny
from bobcat.model.decision import ExecutionContext, Principal
from bobcat.model.run import AuditEvent
from bobcat.runtime.mediator import mediate
from bobcat.sinks.fanout import Fanout
from corpora.mixed import workload

CALLS = 200
ROUNDS = 40
RULES = 1_000


def gate_of_a_call() -> dict[str, Any]:  # Any: JSON
    """Microseconds of a gated call, and of the tool alone."""

    @bobcat.tool(reversible=True, effect="none")
    async def noop(text: str) -> str:
        return text

    tools = bobcat.ToolSet.from_functions(noop)
    declared = tools.get("noop").metadata
    allowed = {
        "id": "noop",
        "match": {"tool": "noop", "args.text.matches": "^hel+o"},
        "decision": "allow",
        "reason": "",
    }
    policy = workload(RULES).policy
    bundle = bobcat.compile_policy({**policy, "rules": [*policy["rules"], allowed]})
    principal, fanout, nobody = Principal("user", "ann"), Fanout(()), auto_deny("nobody is asked")

    async def gated() -> float:
        started = time.perf_counter()
        for step in range(CALLS):
            context = ExecutionContext(principal, "dev", ".", "c", step, datetime.now(UTC))
            request = bobcat.ActionRequest("noop", {"text": "hello"}, declared, context)
            decision = bobcat.evaluate(bundle, request)
            result = await mediate(request, decision, tools, nobody)
            body = {"ok": result.ok, "rules": decision.matched_rules}
            await fanout.deliver(AuditEvent("c", bundle.digest, step, "result", datetime.now(UTC), body))
            if not result.ok:
                raise SystemExit(result.error)
        return (time.perf_counter() - started) / CALLS

    async def alone() -> float:
        function = tools.get("noop").fn
        started = time.perf_counter()
        for _ in range(CALLS):
            await function(text="hello")
        return (time.perf_counter() - started) / CALLS

    best = [float("inf")] * 2
    gc.collect()
    gc.disable()
    for _ in range(ROUNDS):
        best = [min(best[0], asyncio.run(gated())), min(best[1], asyncio.run(alone()))]
    gc.enable()
    return {"rules": RULES, "us": round(best[0] * 1e6, 2), "tool_alone_us": round(best[1] * 1e6, 2)}
