"""Counts and sums with `by`: guards that share a store decide as a slow reading of all calls does.

The slow reading keeps the list of all calls and counts it anew for each decision. It shares no code with the runtime.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat import ApprovalDecision, Guard, MemoryStore, Policy, Principal, tool
from bobcat.runtime import scopes
from campaign import examples

START = datetime(2026, 1, 1, tzinfo=UTC)
COMPARE = {"lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "ge": lambda a, b: a >= b}


@dataclass
class Condition:
    """A condition of a policy."""

    kind: str
    by: str
    op: str
    bound: int
    within: int | None
    this: bool
    to: str | None

    def to_match(self) -> dict[str, Any]:  # Any: YAML as data
        of = {"tool": "pay"} if self.to is None else {"tool": "pay", "args.to": self.to}
        test: dict[str, Any] = {self.op: self.bound}
        test = {"with_this": test} if self.this else test
        options = {"of": of, "by": self.by, **test, **({"field": "n"} if self.kind == "sum" else {})}
        return {f"run.{self.kind}": options if self.within is None else {**options, "within": self.within}}


@dataclass
class Call:
    """One submission: by which guard, for whom, how much later, and what becomes of it."""

    guard: int
    tool: str
    principal: str
    tenant: str | None
    to: str
    n: int
    later: int
    end: str


conditions = st.builds(
    Condition, st.sampled_from(["count", "sum"]), st.sampled_from(["principal", "tenant"]),
    st.sampled_from(sorted(COMPARE)), st.integers(0, 5), st.sampled_from([None, None, 10, 60]), st.booleans(),
    st.sampled_from([None, "a"]),
)  # fmt: skip
calls = st.builds(
    Call, st.integers(0, 2), st.sampled_from(["pay", "pay", "pay", "read"]), st.sampled_from(["ann", "bob"]),
    st.sampled_from(["t", "u", None]), st.sampled_from(["a", "b"]), st.integers(-2, 3), st.integers(0, 40),
    st.sampled_from(["ok", "ok", "ok", "fails", "refused", "granted"]),
)  # fmt: skip


class Oracle:
    """All calls that count, in order."""

    def __init__(self, condition: Condition) -> None:
        self.condition = condition
        self.counted: list[tuple[int, Call]] = []

    def permits(self, now: int, call: Call) -> bool:
        wanted = self.condition
        if wanted.by == "tenant" and call.tenant is None:
            return False
        taken = [each for at, each in self.counted if wanted.within is None or now - at <= wanted.within]
        taken = [each for each in taken if getattr(each, wanted.by) == getattr(call, wanted.by)]
        taken = [*taken, *([call] if wanted.this else [])]
        taken = [each for each in taken if each.tool == "pay" and wanted.to in (None, each.to)]
        value = len(taken) if wanted.kind == "count" else sum(each.n for each in taken)
        return COMPARE[wanted.op](value, wanted.bound)


@tool(effect="idempotent")
async def pay(to: str, n: int, fails: bool) -> str:
    if fails:
        raise OSError("it may have happened")
    return "paid"


@tool(effect="none")
async def read(to: str, n: int, fails: bool) -> str:
    return "text"


async def _decide(condition: Condition, steps: list[Call]) -> tuple[list[bool], list[bool]]:
    """What the guards permitted, and what the oracle permits."""
    match = condition.to_match()
    asked = {"id": "ask", "match": {**match, "context.extra.asks": True}, "decision": "approve_required"}
    rules = [asked, {"id": "ok", "match": match, "decision": "allow"}]
    policy = Policy.compile({"defaults": {"on_missing_shadow": "deny"}, "rules": rules})
    store, oracle, now = MemoryStore(), Oracle(condition), 0
    guards = [Guard(policy, [pay, read], store=store, clock=lambda: START + timedelta(seconds=now)) for _ in range(3)]
    found, expected = [], []
    for step in steps:
        now += step.later

        async def answer(_: object, step: Call = step) -> ApprovalDecision:
            return ApprovalDecision(step.end == "granted", "alice", "no")

        facts: dict[str, Any] = {"asks": step.end in ("refused", "granted")}
        outcome = await guards[step.guard].submit(
            step.tool, {"to": step.to, "n": step.n, "fails": step.end == "fails"}, on_approval=answer,
            principal=Principal("user", step.principal),
            extra=facts if step.tenant is None else {**facts, "tenant": step.tenant},
        )  # fmt: skip
        permitted = oracle.permits(now, step)
        expected.append(permitted and step.end != "refused")
        failed = permitted and step.end == "fails" and step.tool == "pay"
        found.append(outcome.status == "ok" or (failed and outcome.status == "failed"))
        if permitted and step.end != "refused":
            oracle.counted.append((now, step))
    for guard in guards:
        await guard.aclose()
    return found, expected


@pytest.mark.campaign
@settings(max_examples=examples(60), deadline=None)
@given(conditions, st.lists(calls, max_size=12), st.sampled_from([1, 3, scopes.TALLY_EVERY]))
def test_guards_on_one_store_decide_as_the_slow_reading(condition: Condition, steps: list[Call], every: int) -> None:
    before, scopes.TALLY_EVERY = scopes.TALLY_EVERY, every
    try:
        found, expected = asyncio.run(_decide(condition, steps))
    finally:
        scopes.TALLY_EVERY = before
    assert found == expected
