"""Whole runs under one of three packages (`lynx`, `bobcat.lynx`, `bobcat`), as plain data that can be compared.

A `Script` is everything that happens to a run: what the agent says, what the policy is, who approves, what is capped,
when the kill switch is thrown, at which write the process dies, how often it is started again.
"""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

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
POLICIES = {
    "plain": POLICY,
    "uncertain-denied": POLICY
    + "  - {id: retry, match: {context.extra.uncertain_retry: true}, decision: deny, priority: 10, reason: unclear}\n",
    "uncertain-asked": POLICY
    + "  - {id: retry, match: {context.extra.uncertain_retry: true}, decision: approve_required, priority: 10}\n",
}
NAMES = ("echo", "delete", "bare", "deploy", "query", "other")


_RANDOM = re.compile(r"(?<=^r#)[0-9a-f]{8}$|^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}$")


class Died(BaseException):
    """The process is gone."""


@dataclass(frozen=True)
class Death:
    """The process dies around its `at`-th write of an attempt, or of one kind of record, before or after it is kept."""

    at: int
    kept: bool
    kind: str | None = None


@dataclass(frozen=True)
class Script:
    """One run, with everything that happens to it."""

    calls: tuple[tuple[str, str, int], ...]  # tool, argument, tokens reported (0: no usage)
    end: str = "answer"  # what the agent does after the calls: answer, raise, time out of its own, hang
    policies: tuple[str, ...] = ("plain",)  # one per attempt; the last one again when there are more
    approver: str | None = None  # who grants; "no" refuses, "raises", "sleeps", "yes" grants with a string
    budget: dict[str, Any] = field(default_factory=dict)
    cancel_at: tuple[str, int] | None = None  # during the n-th event, event of a kind, model call, tool or approval
    deaths: tuple[Death, ...] = ()
    journaled: bool = False
    named: bool = False


def kind_of(record: Any) -> str:
    """The kind of a record. What became of a call of an unknown tool has one of its own: lynx has no such record."""
    return "unknown tool" if record.kind == "action.result" and record.body["verdict"] is None else str(record.kind)


class Store:
    """A journal in a list, with the exception of one package, that lets the process die."""

    def __init__(self, taken: type[Exception]) -> None:
        self.records: list[Any] = []
        self.death: Death | None = None
        self.writes = 0
        self._taken = taken

    async def append(self, record: Any) -> None:
        counts = self.death is None or self.death.kind is None or self.death.kind == kind_of(record)
        self.writes += counts
        dies = self.death is not None and counts and self.writes == self.death.at
        if dies and self.death is not None and not self.death.kept:
            raise Died
        if any(kept.seq == record.seq for kept in self.records):
            raise self._taken(str(record.seq))
        self.records.append(record)
        if dies:
            raise Died

    async def load(self, run_id: str) -> list[Any]:
        return list(self.records)


class World:
    """Everything that a run touches and leaves behind, in either package."""

    def __init__(self, api: ModuleType, script: Script, declared: Mapping[str, Any] | None = None) -> None:
        self.api = api
        self.declared = declared or {}  # what all tools are declared to be
        self.script = script
        self.token = api.CancelToken()
        self.seen: list[Any] = []
        self.ran: list[str] = []
        self.events: list[Any] = []
        self.counts: dict[str, int] = {}

    def passes(self, place: str) -> None:
        """Something happens; the switch may be thrown now."""
        self.counts[place] = self.counts.get(place, 0) + 1
        if self.script.cancel_at == (place, self.counts[place]):
            self.token.cancel("stop it")

    def tools(self) -> Any:
        """The tools of the policies."""
        return self.api.ToolSet.from_functions(*map(self._tool, NAMES))

    def _tool(self, name: str) -> Any:
        @self.api.tool(name=name, **self.declared)
        async def fn(text: str) -> str:
            self.ran.append(f"{name} {text}")
            self.passes("tool")
            if text == "fail":
                raise ValueError("failed")
            if text == "late":
                raise TimeoutError("mine")
            return f"{name} did {text}"

        if name == "delete":

            @fn.shadow
            async def twin(text: str) -> str:
                self.passes("tool")
                if text == "fail":
                    raise ValueError("failed")
                return f"would {text}"

        return fn

    async def approve(self, request: Any) -> Any:
        """The approver."""
        self.passes("approval")
        who = self.script.approver
        if who == "raises":
            raise LookupError("no answer")
        if who == "sleeps":
            raise TimeoutError
        if who == "no":
            return self.api.ApprovalDecision(False, "bob", "not today")
        return self.api.ApprovalDecision("yes" if who == "yes" else True, "alice")

    async def sink(self, event: Any) -> None:
        self.passes("event")
        self.passes(event.kind)
        self.events.append((event.seq, event.kind, event.correlation_id, event.bundle_id, dict(event.body)))

    async def step(self, conversation: Any) -> Any:
        """The agent's."""
        self.passes("model")
        shown = [(m.role, m.content, m.name, m.tool_call_id, m.tool_call_args) for m in conversation]
        self.seen.append(shown)
        done = sum(message.role == "tool" for message in conversation)
        usage = self.api.Usage(1, 2, cache_read_tokens=3, model="m")
        if done < len(self.script.calls):
            name, text, tokens = self.script.calls[done]
            used = self.api.Usage(tokens, 3, 1, None, "m") if tokens else None
            return self.api.ToolCall(name, {"text": text}, "" if tokens else f"id{done}", used)
        if self.script.end == "raise":
            raise ValueError("the model is down")
        if self.script.end == "late":
            raise TimeoutError
        if self.script.end == "hang":
            await asyncio.sleep(60)
        return self.api.FinalAnswer("done", usage)


def play(
    api: ModuleType,
    script: Script,
    compile_policy: Any,
    taken: type[Exception],
    declared: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """The run, started again after each death; one entry for each attempt."""
    store = Store(taken)
    attempts = []
    for number in range(len(script.deaths) + 1):
        world = World(api, script, declared)
        store.writes, store.death = 0, script.deaths[number] if number < len(script.deaths) else None
        policy = script.policies[min(number, len(script.policies) - 1)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bundle = compile_policy(POLICIES[policy])
        options: dict[str, Any] = {"store": store, "run_id": "r"} if script.journaled else {}
        if script.named:
            options["correlation_id"] = "mine"
        try:
            result = asyncio.run(
                api.run_agent(
                    world, "task", tools=world.tools(), policy=bundle, sinks=[world.sink], cancel=world.token,
                    on_approval=world.approve if script.approver else None, budget=api.Budget(**script.budget),
                    **options,
                )
            )  # fmt: skip
        except Died:
            result = None
        attempts.append(
            {
                "result": result and (result.correlation_id, result.bundle_id, result.final_answer, result.error,
                                      result.steps_taken, str(result.usage)),
                "seen": world.seen,
                "events": world.events,
                "ran": world.ran,
                "journal": [(r.run_id, r.seq, r.kind, r.idempotency_key, dict(r.body)) for r in store.records],
            }
        )  # fmt: skip
    return attempts


_MEASURED = ("duration_ms", "chain")
"""A record's hash covers the duration in it."""


def comparable(value: Any) -> Any:
    """Without what differs between any two runs: durations and hashes over them, random ids, the text of tracebacks."""
    if isinstance(value, str):
        first = value.split("\n", 1)[0]
        return _RANDOM.sub("…", first)
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items() if key not in _MEASURED}
    if isinstance(value, (list, tuple)):
        return [comparable(item) for item in value]
    return value


CALLS = st.lists(
    st.tuples(
        st.sampled_from([*NAMES, "missing"]),
        st.sampled_from(["a", "a", "force", "fail", "late"]),
        st.sampled_from([0, 0, 1, 7]),
    ),
    max_size=5,
).map(tuple)
BUDGETS = st.fixed_dictionaries(
    {},
    optional={
        "steps": st.integers(0, 5),
        "tokens": st.integers(0, 30),
        "input_tokens": st.integers(0, 15),
        "output_tokens": st.integers(0, 9),
        "max_repeated_calls": st.integers(0, 2),
        "duration_seconds": st.sampled_from([0, 60]),
    },
)
DEATHS = st.lists(st.builds(Death, st.integers(1, 12), st.booleans()), max_size=3).map(tuple)
SCRIPTS = st.builds(
    Script,
    calls=CALLS,
    end=st.sampled_from(["answer", "answer", "answer", "raise", "late"]),
    policies=st.lists(st.sampled_from(sorted(POLICIES)), min_size=1, max_size=3).map(tuple),
    approver=st.sampled_from([None, "alice", "alice", "no", "raises", "sleeps", "yes"]),
    budget=BUDGETS,
    cancel_at=st.none() | st.tuples(st.sampled_from(["event", "model", "tool", "approval"]), st.integers(1, 12)),
    named=st.booleans(),
    journaled=st.just(False),
) | st.builds(
    Script,
    calls=CALLS,
    policies=st.lists(st.sampled_from(sorted(POLICIES)), min_size=1, max_size=3).map(tuple),
    approver=st.sampled_from([None, "alice", "alice", "no", "yes"]),
    budget=BUDGETS,
    cancel_at=st.none() | st.tuples(st.sampled_from(["event", "model", "tool", "approval"]), st.integers(1, 12)),
    deaths=DEATHS,
    named=st.booleans(),
    journaled=st.just(True),
)
