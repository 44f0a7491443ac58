"""The cost of a run's memory: an event, a decision with and without it, its size, its rebuild from the journal.

python benches/memory.py [--format json] [--keep benches/memory_results.json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from bobcat import (
    Budget,
    FinalAnswer,
    MemoryStore,
    Message,
    Policy,
    Request,
    StepRecord,
    ToolCall,
    ToolSet,
    run_agent,
    tool,
)
from bobcat._core import Program, RunState, evaluate
from bobcat.ir import canonical, construct
from bobcat.ir.schema import (
    AnyRule,
    CallEvent,
    Definition,
    FormulaDefinition,
    Measure,
    NotFormula,
    ResultEvent,
    Since,
    Source,
)
from bobcat.model.decision import ActionRequest
from bobcat.runtime.recorded_step import recorded_step
from memory_page import FIGURES, tables
from threads import machine

START = datetime(2026, 1, 1, tzinfo=UTC)
CALLS = 10_000
DECISIONS = 2_000
PAY = construct.leaf("tool", (), "eq", "pay")
FIND = construct.leaf("tool", (), "eq", "find")
PASSED = construct.all_([construct.leaf("tool", (), "eq", "test"), construct.leaf("result", ("code",), "eq", 0)])
COUNT = Measure(PAY)
DEFINITIONS: dict[str, Definition] = {
    "count": COUNT,
    "sum": Measure(PAY, ("amount",)),
    "window": Measure(PAY, ("amount",), within=60_000_000),
    "formula": FormulaDefinition(Since(NotFormula(CallEvent(PAY)), ResultEvent(PASSED))),
    "source": Source(FIND, (("email",),)),
}
NAMES = {
    "count": "a count",
    "sum": "a sum",
    "window": "a sum of a minute",
    "formula": "a sequence",
    "source": "a source",
}
RULES = """
sources:
  people: {tool: find, fields: [email], asked_with: task}
rules:
  - id: few
    match: {tool: pay, run.count.pay.lt: 3, run.sum.pay.amount.with_this.le: 100, args.to.from: people}
    decision: allow
  - {id: often, match: {run.count: {of: {tool: find}, within: 1m, gt: 1000000}}, decision: deny}
  - {id: tested, match: {run.never: {event: {call: {tool: pay}}, since: {result: {tool: find}}}}, decision: allow}
  - {id: find, match: {tool: find}, decision: allow}
"""

Results = dict[str, Any]  # Any: JSON


def program(rules: int, *, memory: bool) -> Program:
    """A policy of so many rules about tools, each with a clause on an argument; with memory, on a count as well."""
    name = canonical.definition_name(COUNT)
    made: list[AnyRule] = []
    for number in range(rules):
        clauses = [
            construct.leaf("tool", (), "eq", f"tool-{number % 100}"),
            construct.leaf("args", ("path",), "eq", f"/srv/{number}"),
        ]
        if memory:
            clauses.append(construct.leaf("run", (name,), "lt", 3))
        made.append(construct.rule(f"rule-{number}", construct.all_(clauses), "allow"))
    return Program(canonical.encode(construct.policy(made, memory={name: COUNT} if memory else {})))


def calls(tool: str) -> list[ActionRequest]:
    """The intents of a run, a millisecond apart."""
    return [
        Request(tool, {"amount": number % 7}, timestamp=START + timedelta(milliseconds=number))
        for number in range(CALLS)
    ]


def best(times: int, run: Callable[[], float]) -> float:
    """The least of some measurements."""
    return min(run() for _ in range(times))


def feed(definitions: dict[str, Definition], requests: list[ActionRequest], *, results: bool) -> tuple[float, RunState]:
    """Feed a run, and return the microseconds of one call, its result included, and the state."""
    state = RunState(Program(canonical.encode(construct.policy([], memory=definitions))))
    keys = [str(number) for number in range(len(requests))]
    values = [{"email": f"user-{number}@example.com", "code": 0} for number in range(len(requests))]
    begun = time.thread_time()
    for request, key, value in zip(requests, keys, values, strict=True):
        state.call(request, key)
        if results:
            state.result(key, value, START)
            state.next_reply()
    return (time.thread_time() - begun) / len(requests) * 1e6, state


def decide(rules: int, *, memory: bool) -> float:
    """Return the microseconds of one decision."""
    bundle = program(rules, memory=memory)
    request = Request("tool-1", {"path": "/srv/1"}, timestamp=START)
    state = RunState(bundle)
    evaluate(bundle, request, state=state)

    def once() -> float:
        begun = time.thread_time()
        if memory:
            for _ in range(DECISIONS):
                evaluate(bundle, request, state=state)
        else:
            for _ in range(DECISIONS):
                evaluate(bundle, request)
        return (time.thread_time() - begun) / DECISIONS * 1e6

    return best(30, once)


def step_of_a_monitor(base: float) -> float:
    """Return the nanoseconds that one formula adds to an event."""
    many: dict[str, Definition] = {
        f"formula-{number:03}": FormulaDefinition(
            Since(NotFormula(CallEvent(PAY)), CallEvent(construct.leaf("tool", (), "eq", f"tool-{number}")))
        )
        for number in range(100)
    }
    requests = calls("pay")
    return (best(9, lambda: feed(many, requests, results=False)[0]) - base) / len(many) * 1e3


def bytes_of_runs(count: int) -> Results:
    """Return the memory of a run with all definitions, after so many calls with their results.

    A process of its own measures it, which has no freed memory to use again.
    """
    command = [sys.executable, __file__, "--only-bytes", str(count)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: Results = json.loads(done.stdout)
    return found


def measured_bytes(count: int) -> Results:
    """Make runs, and return the resident memory of one."""
    requests = calls("find")[:count]
    bundle = Program(canonical.encode(construct.policy([], memory=DEFINITIONS)))
    runs = max(20, 50_000 // count)
    kept = [RunState(bundle)]
    before = resident()
    for _ in range(runs):
        state = RunState(bundle)
        for number, request in enumerate(requests):
            state.call(request, str(number))
            state.result(str(number), {"email": f"user-{number}@example.com", "code": 0}, START)
        kept.append(state)
    return {"calls": count, "bytes": round((resident() - before) / runs), "snapshot": len(kept[-1].dump())}


def resident() -> int:
    """Return the resident memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Caller:
    """Makes the same call in every step."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        """A call; the budget ends the run."""
        return ToolCall("find", {"name": f"user {len(conversation)}"})


def journal(records: int) -> tuple[Policy, Sequence[StepRecord]]:
    """A real run with this many records: its policy, with all kinds of definitions, and its journal."""
    policy = Policy.compile(RULES)

    @tool(effect="none")
    async def find(name: str) -> dict[str, str]:
        return {"email": f"{name}@example.com"}

    async def main() -> Sequence[StepRecord]:
        store = MemoryStore()
        await run_agent(
            Caller(), "find", tools=ToolSet.from_functions(find), policy=policy, store=store, run_id="r",
            budget=Budget(steps=records // 3, duration_seconds=None),
        )  # fmt: skip
        return await store.load("r")

    return policy, asyncio.run(main())


def rebuild(records: int) -> Results:
    """Return the milliseconds in which the state of a run is made again from its journal."""
    policy, found = journal(records)
    found = found[:records]
    last = max(record.body["step"] for record in found if record.kind == "action.result")

    def once() -> float:
        begun = time.thread_time()
        recorded_step(found, policy, last)
        return (time.thread_time() - begun) * 1e3

    return {"records": len(found), "ms": best(3, once)}


def measured() -> Results:
    """All figures: microseconds, unless a name says otherwise."""
    empty: dict[str, Definition] = {"count": Measure(construct.leaf("tool", (), "eq", "none"))}
    requests, found, source = calls("pay"), calls("find"), {"source": DEFINITIONS["source"]}
    base = best(9, lambda: feed(empty, requests, results=False)[0])
    events = {"a definition that does not match": base}
    for name, definition in DEFINITIONS.items():
        one = {name: definition}
        events[NAMES[name]] = best(9, lambda one=one: feed(one, requests, results=False)[0])  # type: ignore[misc]  # bound
    events["a source, with the result"] = best(9, lambda: feed(source, found, results=True)[0])
    decisions = []
    for rules in (10, 100, 1_000, 10_000):
        plain, with_memory = (decide(rules, memory=memory) for memory in (False, True))
        decisions.append({"rules": rules, "plain": plain, "with_memory": with_memory})
    return {
        "decisions": decisions,
        "calls": events,
        "monitor_ns": step_of_a_monitor(base),
        "runs": [bytes_of_runs(count) for count in (1, 10, 100, 1_000)],
        "rebuild": rebuild(10_000),
        "machine": machine(),
    }


def main() -> None:
    """Measure, and print or keep the figures."""
    parser = argparse.ArgumentParser(description="What the memory of a run costs.")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the figures to FILE, and update the page")
    parser.add_argument("--only-bytes", type=int, metavar="CALLS", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only_bytes is not None:
        print(json.dumps(measured_bytes(given.only_bytes)))
        return
    results = measured()
    if given.keep is not None:
        given.keep.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        FIGURES.update(results)
    print(json.dumps(results, indent=1) if given.format == "json" else tables(results))


if __name__ == "__main__":
    main()
