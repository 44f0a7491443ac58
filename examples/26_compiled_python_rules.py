"""Rules written in Python and compiled: they run in the core, travel in the bundle, and count in the digest."""

from __future__ import annotations

import re

from bobcat import (
    ActionRequest,
    Decision,
    ExecutionContext,
    Policy,
    allow,
    approve_required,
    deny,
    request_from_json,
    rule,
)

POLICY = """
rules:
  - id: reads
    match: {tool: query, args.sql.matches: '^select (1|id|state)(, (id|state))*( from (orders|items))?$'}
    decision: allow
  - id: closes
    match: {tool: query, args.sql.matches: '^update orders set state = 1 where id = [0-9]{1,9}$'}
    decision: allow
"""
WRITES = re.compile(r"^\s*(insert|update|delete)\b", re.IGNORECASE)
ADDRESS = re.compile(r"[a-z0-9.]{1,64}@[a-z0-9.]{1,200}")
OURS = ("example.com", "example.org")


def domain(address: str) -> str:
    """The part of an address behind the last `@`."""
    return address.rpartition("@")[2].lower()


@rule(priority=10)
def recipients(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    """Mail to strangers is read by somebody first."""
    if request.tool != "send_email":
        return None
    if not set(request.args) <= {"to", "subject", "body"}:
        return deny("a mail has to, subject and body, and no copies")
    addresses = request.args["to"]
    if not addresses or not all(ADDRESS.fullmatch(to) for to in addresses):
        return deny("every recipient must be one plain address")
    strangers = sorted({domain(to) for to in addresses} - set(OURS))
    if strangers:
        return approve_required(("comms",), reason=f"mail to {', '.join(strangers)}")
    return allow()


@rule(priority=20)
def writes_by_day(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    """The database is written to while somebody is there to look."""
    hour = context.timestamp.hour
    if request.tool == "query" and WRITES.search(request.args["sql"]) and not 9 <= hour < 17:
        return deny(f"no writes at {hour:02d}:00")
    return None


CALLS = (
    ("send_email", {"to": ["a@example.com"]}),
    ("send_email", {"to": ["a@example.com", "x@elsewhere.test"]}),
    ("send_email", {"subject": "hello"}),
    ("query", {"sql": "select 1"}),
    ("query", {"sql": "update orders set state = 1 where id = 7"}),
    ("query", {"sql": "drop table orders"}),
)


def main() -> None:
    policy = Policy.compile(POLICY, python_rules=[recipients, writes_by_day])
    # The bundle needs no code: it could be loaded in a process that has never seen these functions.
    elsewhere = Policy.load(policy.to_bytes())
    for tool, args in CALLS:
        context = {"timestamp": "2026-01-31T22:15:00Z"}
        decision = elsewhere.evaluate(request_from_json({"tool": tool, "args": args, "context": context}))
        print(f"{tool} {args}: {decision.verdict}  {decision.reason or ', '.join(decision.matched_rules)}")
    print("callables left:", len(elsewhere.python_rules))


if __name__ == "__main__":
    main()
