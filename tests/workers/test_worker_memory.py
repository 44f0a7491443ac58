"""Queued runs under a policy that remembers: the jobs of a tenant count together, over workers and runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from bobcat import FinalAnswer, Message, Policy, ToolCall, ToolSet, tool
from bobcat.workers import Job, Workers
from workers.conftest import House

POLICY = Policy.compile("""
sources:
  found: {tool: search, fields: [email]}
rules:
  - {id: search, match: {tool: search}, decision: allow}
  - id: mail
    match: {tool: mail, args.to.from: [task, found], run.count.mail: {lt: 3, by: tenant}, run.count.mail.lt: 2}
    decision: allow
""")


class Writer:
    """Searches, and mails what it found and others."""

    calls = (("search", {}), ("mail", {"to": "ann@corp.example"}), ("mail", {"to": "eve@x.example"}),
             ("mail", {"to": "task@corp.example"}), ("mail", {"to": "task@corp.example"}))  # fmt: skip

    def __init__(self, told: list[bool]) -> None:
        self.told = told

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        told = [each.content.startswith("[ok]") for each in conversation if each.role == "tool"]
        self.told[:] = told
        return ToolCall(*self.calls[len(told)]) if len(told) < len(self.calls) else FinalAnswer("done")


@tool(effect="none")
async def search() -> dict[str, str]:
    return {"email": "ann@corp.example"}


@tool(effect="idempotent")
async def mail(to: str) -> str:
    return "sent"


def test_jobs_of_a_tenant_count_together_and_each_remembers_its_own_run(house: House) -> None:
    told: dict[str, list[bool]] = {}
    app = Workers()

    @app.run("write")
    def write(job: Job) -> dict[str, Any]:
        agent = Writer(told.setdefault(job.run_id, []))
        tools = ToolSet.from_functions(search, mail)
        return {"agent": agent, "task": "write to task@corp.example", "tools": tools, "policy": POLICY}

    async def main() -> None:
        for run_id, tenant in (("r1", "acme"), ("r2", "acme"), ("r3", "other"), ("r4", "")):
            await house.jobs.enqueue("write", run_id=run_id, tenant=tenant)
            await house.work(app)
            assert await house.status(run_id) == "succeeded"

    asyncio.run(main())
    assert told == {
        "r1": [True, True, False, True, False],
        "r2": [True, True, False, False, False],
        "r3": [True, True, False, True, False],
        "r4": [True, False, False, False, False],
    }
