"""Whole runs beside lynx-agent 2.5: the same messages, results, events and journals, but for what is safer on purpose.

The differences, all of them: effective arguments appear in events and intents; approvals are answered in the audit
before the action runs, with the approver's name; a refused approval writes no intent; a granted action that fails is a
failure; approvals are on record. (Not generated here: repetitions, which are counted in a row; a token cap
that the last reply goes past, which fails the run; calls that do not fit a signature, which the policy never sees.)
"""

from __future__ import annotations

import asyncio
from typing import Any

import lynx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lynx.durability import DuplicateRecord

import bobcat
import campaign
from safe_differences import common_events, common_records, head

POLICY = """
defaults: {on_no_match: deny, on_missing_shadow: deny}
rules:
  - {id: no-force, match: {args.text: force}, decision: deny, reason: not like this, priority: 9}
  - {id: echo, match: {tool: echo}, decision: allow, reason: harmless}
  - {id: preview, match: {tool: delete}, decision: dry_run}
  - {id: bare, match: {tool: bare}, decision: dry_run}
  - {id: ask, match: {tool: deploy}, decision: approve_required, approvers: [alice], reason: prod}
  - {id: limit, match: {tool: query}, decision: transform, transform: {jsonpath: $.args.text, set: LIMITED}}
"""
NAMES = ["echo", "delete", "bare", "deploy", "query", "other", "missing"]
CALL = st.tuples(st.sampled_from(NAMES), st.sampled_from(["a", "force", "fail"]), st.booleans())
OPTIONS = st.fixed_dictionaries(
    {
        "steps": st.none() | st.integers(1, 6),
        "tokens": st.sampled_from([None, 2, 3, 5, 9, 14, 20]),
        "approver": st.sampled_from([None, "alice", "no"]),
        "store": st.booleans(),
    }
)


class Store:
    """A journal that speaks both dialects of `DuplicateRecord` by never needing either."""

    def __init__(self) -> None:
        self.records: list[Any] = []

    async def append(self, record: Any) -> None:
        if record.seq != len(self.records):
            raise DuplicateRecord
        self.records.append(record)

    async def load(self, run_id: str) -> list[Any]:
        return list(self.records)


def run(api: Any, calls: list[tuple[str, str, bool]], options: dict[str, Any]) -> dict[str, Any]:
    """One run under one of the two packages, as plain data."""
    ran: list[str] = []

    def make(name: str) -> Any:
        @api.tool(name=name)
        async def fn(text: str) -> str:
            ran.append(f"{name} {text}")
            if text == "fail":
                raise ValueError("failed")
            return f"{name} did {text}"

        if name == "delete":

            @fn.shadow
            async def twin(text: str) -> str:
                return f"would {text}"

        return fn

    tools = api.ToolSet.from_functions(*(make(name) for name in NAMES if name != "missing"))
    events: list[tuple[str, dict[str, Any]]] = []
    seen: list[Any] = []

    async def sink(event: Any) -> None:
        events.append((event.kind, dict(event.body)))

    class Agent:
        async def step(self, conversation: Any) -> Any:
            seen[:] = [(m.role, m.content, m.name, m.tool_call_id, m.tool_call_args) for m in conversation]
            done = sum(message.role == "tool" for message in conversation)
            if done == len(calls):
                return api.FinalAnswer("done", api.Usage(1, 1))
            name, text, metered = calls[done]
            return api.ToolCall(
                name, {"text": text}, "" if metered else f"id{done}", api.Usage(2, 3) if metered else None
            )

    approver, store = options["approver"], Store()
    approve = None if approver is None else api.auto_deny("no") if approver == "no" else api.auto_approve(approver)
    journal = {"store": store, "run_id": "r"} if options["store"] else {}
    budget = api.Budget(steps=options["steps"], tokens=options["tokens"])
    result = asyncio.run(
        api.run_agent(
            Agent(), "task", tools=tools, policy=api.compile_policy(POLICY), sinks=[sink], on_approval=approve,
            budget=budget, **journal,
        )
    )  # fmt: skip
    return {
        "result": (result.final_answer, result.error, result.steps_taken, str(result.usage)),
        "ran": ran,
        "reported": [(role, head(content), *rest) for role, content, *rest in seen],
        "events": events,
        "journal": [(record.kind, record.idempotency_key, dict(record.body)) for record in store.records],
    }


def _comparable(outcome: dict[str, Any]) -> dict[str, Any]:
    """An outcome without what differs on purpose."""
    events, journal = common_events(outcome["events"]), common_records(outcome["journal"])
    return {**outcome, "events": events, "journal": journal}


@settings(max_examples=campaign.examples(100), deadline=None)
@given(st.lists(CALL, max_size=6), OPTIONS)
def test_a_run_is_the_same_run(calls: list[tuple[str, str, bool]], options: dict[str, Any]) -> None:
    options = {**options, "steps": options["steps"] or 100}
    assert _comparable(run(bobcat, calls, options)) == _comparable(run(lynx, calls, options))


@pytest.mark.parametrize("cut", range(1, 9))
def test_a_journal_of_theirs_is_taken_up_here(cut: int) -> None:
    calls = [("echo", "a", True), ("query", "b", False)]
    options = {"steps": 9, "tokens": None, "approver": None, "store": True}
    store = Store()

    async def go(api: Any) -> Any:
        ran: list[str] = []

        again = {"effect": "idempotent"} if api is bobcat else {}

        @api.tool(name="echo", **again)
        async def echo(text: str) -> str:
            ran.append("echo")
            return f"echo did {text}"

        @api.tool(name="query", **again)
        async def query(text: str) -> str:
            ran.append("query")
            return f"query did {text}"

        class Agent:
            async def step(self, conversation: Any) -> Any:
                done = sum(message.role == "tool" for message in conversation)
                return api.ToolCall(calls[done][0], {"text": calls[done][1]}) if done < 2 else api.FinalAnswer("done")

        result = await api.run_agent(
            Agent(), "task", tools=api.ToolSet.from_functions(echo, query), policy=api.compile_policy(POLICY),
            budget=api.Budget(steps=options["steps"]), store=store, run_id="r",
        )  # fmt: skip
        return result, ran

    asyncio.run(go(lynx))
    store.records = store.records[:cut]
    done_before = sum(record.kind == "action.result" for record in store.records)
    result, ran = asyncio.run(go(bobcat))
    assert result.final_answer == "done"
    assert ran == ["echo", "query"][done_before:]
