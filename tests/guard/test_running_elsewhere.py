"""`run=`: a framework executes the call, and the guard does everything else."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bobcat import Guard, Outcome, Policy, auto_approve
from bobcat.decision_log import open_log
from guard.gated import Tools, policy

ANY = Policy.compile(
    """
rules:
  - {id: small, match: {tool: move, args.count.le: 5}, decision: allow}
  - {id: ask, match: {tool: ask}, decision: approve_required}
  - {id: rewrite, match: {tool: query}, decision: transform, transform: {jsonpath: $.args.text, append: "!"}}
"""
)


def test_a_tool_that_the_guard_does_not_have_runs_elsewhere(tmp_path: Path) -> None:
    ran: list[dict[str, Any]] = []

    async def run(**args: Any) -> str:
        ran.append(args)
        return "moved"

    def sync(**args: Any) -> str:
        ran.append(args)
        return "sync"

    async def main() -> list[Outcome]:
        async with Guard(ANY, log=tmp_path / "log.db") as guard:
            return [
                await guard.submit("move", {"count": 3, "to": {"x": [1]}}, run=run),
                await guard.submit("move", {"count": 9}, run=run),
                await guard.submit("move", {"count": 3}),
                await guard.submit("query", {"text": "q"}, run=sync),
                await guard.submit("ask", {}, run=run),
                await guard.submit("ask", {}, run=run, on_approval=auto_approve("ann")),
                await guard.check("move", {"count": 3}, run=run),
                await guard.check("ask", {}, run=run),
            ]

    found = asyncio.run(main())
    statuses = ["ok", "denied", "unknown", "ok", "denied", "ok", "ok", "waiting"]
    assert [each.status for each in found] == statuses
    assert ran == [{"count": 3, "to": {"x": [1]}}, {"text": "q!"}, {}]
    with open_log(tmp_path / "log.db") as log:
        assert [record.status for record in log.records()] == statuses[:6]


def test_a_tool_that_the_guard_has_keeps_its_signature_and_declaration() -> None:
    tools, ran = Tools(), list[Any]()

    async def run(**args: Any) -> str:
        ran.append(args)
        return "elsewhere"

    async def main() -> list[Outcome]:
        async with Guard(policy(), tools.toolset()) as guard:
            return [
                await guard.submit("echo", {"text": "a"}, run=run),
                await guard.submit("echo", {"words": "a"}, run=run),
                await guard.submit("delete", {"path": "a"}, run=run),
            ]

    found = asyncio.run(main())
    assert [each.status for each in found] == ["ok", "invalid", "previewed"]
    assert (ran, tools.ran) == ([{"text": "a", "times": 1}], [])


def test_a_waiting_call_is_resumed_with_its_function(tmp_path: Path) -> None:
    async def run(**args: Any) -> str:
        return "done"

    async def main() -> list[Outcome]:
        async with Guard(ANY, store=f"sqlite:///{tmp_path}/gate.db") as guard:
            waiting = await guard.submit("ask", {}, run=run)
            return [waiting, await guard.resume(waiting.record_id, run=run, on_approval=auto_approve("ann"))]

    assert [each.status for each in asyncio.run(main())] == ["waiting", "ok"]


def test_values_that_are_not_functions_are_refused() -> None:
    with Guard(ANY) as guard, pytest.raises(TypeError, match="run must be a function"):
        guard.submit_sync("move", {}, run=3)
