"""Python rules that read the run, in a guard: a session counts, remembers values, and survives the process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from bobcat import Guard, Policy, allow, deny, tool
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext

TEXT = """
sources: {directory: {tool: search, fields: [email]}}
rules: [{id: search, match: {tool: search}, decision: allow}]
"""


@tool(effect="none")
async def search(name: str) -> dict[str, str]:
    return {"email": f"{name.lower()}@corp.example"}


@tool()
async def mail(to: str) -> str:
    return "sent"


def one_mail(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    """Permit one mail of a session, to an address of the directory."""
    if request.tool != "mail":
        return None
    if request.run.count("mail", with_this=True) > 1:
        return deny("one mail of a session")
    return allow() if "directory" in request.origin("to") and request.run.after("search") else None


def test_python_rules_remember_a_session_over_guards(tmp_path: Path) -> None:
    policy = Policy.compile(TEXT, python_rules=[one_mail])
    assert policy.remembers
    store = f"sqlite:///{tmp_path / 'session.db'}"

    async def submit(name: str, args: dict[str, Any]) -> str:
        async with Guard(policy, [search, mail], store=store, session="s") as guard:
            return (await guard.submit(name, args)).status

    async def main() -> list[str]:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("mail", {"to": "ann@corp.example"}),
            ("search", {"name": "Ann"}),
            ("mail", {"to": "eve@corp.example"}),
            ("mail", {"to": "ann@corp.example"}),
            ("mail", {"to": "ann@corp.example"}),
        ]
        return [await submit(name, args) for name, args in calls]

    found = asyncio.run(main())
    assert [status == "ok" for status in found] == [False, True, False, True, False]
