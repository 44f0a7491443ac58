"""Guards of one session under rules that remember: each decision is that of a slow reading of the session's journal.

Calls are submitted one after the other and at the same time. The processes are killed up to three times, or stopped
while another one submits the same calls, at any await.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings

from bobcat import Guard, MemoryStore, Outcome, RunResult, SQLiteStore, StepRecord
from bobcat.testing import crashsim
from bobcat.testing.crashsim.outside import Outside
from bobcat.testing.crashsim.simulate import simulate
from campaign import examples
from oracle.memory_journal import PERMITS, Made, microseconds, session_before, verdict
from property.memory_scenarios import World, worlds

SESSION = "session:s"
SUPERSEDED = ("superseded", "lease_lost")
"""Codes of submissions that another process took over: nothing ran here."""


class InMemory(MemoryStore):
    """Counts the records of the session."""

    appended = 0

    async def append(self, record: StepRecord) -> None:
        await super().append(record)
        self.appended += record.run_id == SESSION


class OnDisk(SQLiteStore):
    """Counts the records of the session."""

    appended = 0

    async def append(self, record: StepRecord) -> None:
        await super().append(record)
        self.appended += record.run_id == SESSION


@dataclass(frozen=True)
class Submitted:
    """The end of a submission, and the number of the session's records before and after it."""

    outcome: Outcome
    args: dict[str, Any]
    at: int
    before: int
    after: int


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    with closing(Outside()) as found:
        yield found


class Session:
    """The simulated processes of a world, and what they saw."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ends: list[Submitted] = []

    def scenario(self, stage: crashsim.Stage) -> crashsim.Scenario:
        self.ends.clear()
        world = self.world
        store: InMemory | OnDisk = InMemory(clock=stage.clock)
        if world.on_disk:
            store = OnDisk(stage.directory / "runs.db", clock=stage.clock, busy_seconds=0.01)

        async def submit(guard: Guard, number: int, tool: str, args: dict[str, Any]) -> None:
            while True:
                before, at = store.appended, microseconds(stage.clock())
                outcome = await guard.submit(tool, args, key=f"call-{number}")
                if outcome.code != "busy":
                    self.ends.append(Submitted(outcome, args, at, before, store.appended))
                    return
                await asyncio.sleep(world.lease)

        async def drive(worker: crashsim.Worker) -> RunResult:
            async with Guard(
                world.policy, worker.tools, store=worker.store, session="s", on_approval=world.answer,
                clock=stage.clock, lease_seconds=world.lease,
            ) as guard:  # fmt: skip
                number = 0
                for reply in world.replies:
                    await asyncio.sleep(world.pause)
                    calls = [submit(guard, number + at, name, args) for at, (name, args, _) in enumerate(reply)]
                    await asyncio.gather(*calls)
                    number += len(reply)
            return RunResult("s", world.policy.id, "done", None, outcome="succeeded")

        return crashsim.Scenario(
            tools=world.tools(stage), policy=world.policy, store=store, drive=drive, run_id=SESSION,
            lease_seconds=world.lease,
        )  # fmt: skip


def expected(world: World, records: Sequence[StepRecord], name: str, call: Made, at: int) -> set[str]:
    """The verdicts that a call may have after these records.

    An unsafe call that may have happened is asked about, unless it is decided by a process that has been superseded.
    """
    trace = session_before(records)
    found = verdict(world.rules, trace.at(at), call)
    again = found == "allow" and world.effects[call.tool] in ("unsafe", "reconciled")
    if again and any(str(key).startswith(f"{name}~") for key in trace.names):
        return {"allow", "approve_required"}
    return {found}


def check_calls(world: World, records: Sequence[StepRecord]) -> int:
    """Compare the verdict on each call of the session's journal; return how many there are."""
    known: set[tuple[str, object]] = set()
    for number, record in enumerate(records):
        name = str(record.body.get("call"))
        if record.kind != "memory.call" or (name, record.timestamp) in known:
            continue  # an attempt that may have happened, on record once more
        known.add((name, record.timestamp))
        call = Made(record.body["tool"], dict(record.body["args"]))
        found = expected(world, records[:number], name, call, microseconds(record.timestamp))
        assert found <= set(PERMITS), (number, name, found)
    return len(known)


def check_end(world: World, records: Sequence[StepRecord], end: Submitted) -> None:
    """Compare the verdict of a submission with those after the records that were there when it was decided."""
    outcome = end.outcome
    name = f"{outcome.record_id}:0"
    call = Made(outcome.tool, end.args)
    moments = range(end.before, end.after + 1)
    found = set[str]().union(*(expected(world, records[:moment], name, call, end.at) for moment in moments))
    if outcome.code == "lease_lost":  # a process that has been superseded decides nothing
        found.add("deny")
    assert outcome.verdict in found, (outcome, found)


@pytest.mark.campaign
@settings(max_examples=examples(80), deadline=None)
@given(world=worlds())
def test_every_decision_of_a_session_is_that_of_the_slow_reading_of_its_journal(world: World, outside: Outside) -> None:
    session = Session(world)
    done = simulate(session.scenario, world.faults, outside)
    assert done.result.status == "succeeded", done.result
    permitted = check_calls(world, done.records)
    fresh = [end for end in session.ends if end.outcome.verdict and not end.outcome.replayed]
    fresh = [end for end in fresh if end.outcome.code not in SUPERSEDED]
    for end in fresh:
        check_end(world, done.records, end)
    assert permitted + len(fresh) > 0
