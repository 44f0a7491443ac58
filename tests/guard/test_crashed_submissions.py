"""Crash simulation of `Guard.submit` and `resume`: killed at every point, nothing is double, lost or unrecorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from bobcat import MemoryStore, Policy, Reconciled, RunResult, SQLiteStore, ToolSet, tool
from bobcat.approvals import Approvals
from bobcat.testing import crashsim

ALLOWED = Policy.compile({"rules": [{"match": {"tool": "pay"}, "decision": "allow"}]})
APPROVED = Policy.compile({"rules": [{"match": {"tool": "pay"}, "decision": "approve_required"}]})
DENIED = Policy.compile({"rules": [{"match": {"tool": "pay"}, "decision": "deny"}]})
CALL = ("pay", {"amount": 40})


def reconciled(stage: crashsim.Stage) -> ToolSet:
    @tool(effect="unsafe")
    async def pay(amount: int) -> str:
        stage.world.happen("pay", amount)
        return "paid"

    @pay.reconcile
    async def did_pay(key: str, args: Mapping[str, Any]) -> Reconciled:
        paid = stage.world.happened("pay", args["amount"])
        return Reconciled.happened("paid") if paid else Reconciled.not_happened()

    return ToolSet.from_functions(pay)


def unsafe(stage: crashsim.Stage) -> ToolSet:
    @tool(effect="unsafe")
    async def pay(amount: int) -> str:
        stage.world.happen("pay", amount)
        return "paid"

    return ToolSet.from_functions(pay)


def store_of(stage: crashsim.Stage, *, disk: bool) -> MemoryStore | SQLiteStore:
    if disk:
        return SQLiteStore(stage.directory / "gate.db", clock=stage.clock, busy_seconds=0.01)
    return MemoryStore(clock=stage.clock)


def allowed(stage: crashsim.Stage, *, resumes: bool = False, disk: bool = False) -> crashsim.Scenario:
    store = store_of(stage, disk=disk)
    return crashsim.submission(
        stage, *CALL, tools=reconciled(stage), policy=ALLOWED, store=store, resumes=resumes
    )  # fmt: skip


def approved(stage: crashsim.Stage, *, resumes: bool = False, disk: bool = False) -> crashsim.Scenario:
    store = stage.store(store_of(stage, disk=disk))

    async def grant(result: RunResult) -> None:
        for id in result.approvals:
            await Approvals(store).grant(id, approver="alice")

    return crashsim.submission(
        stage, *CALL, tools=reconciled(stage), policy=APPROVED, store=store, answer=grant, resumes=resumes
    )


def denied(stage: crashsim.Stage) -> crashsim.Scenario:
    store = MemoryStore(clock=stage.clock)
    return crashsim.submission(stage, *CALL, tools=unsafe(stage), policy=DENIED, store=store)


def unreconciled(stage: crashsim.Stage) -> crashsim.Scenario:
    store = MemoryStore(clock=stage.clock)
    return crashsim.submission(stage, *CALL, tools=unsafe(stage), policy=ALLOWED, store=store)


SCENARIOS: Mapping[str, Callable[[crashsim.Stage], crashsim.Scenario]] = {
    "submitted again": allowed,
    "resumed from the log": partial(allowed, resumes=True),
    "on a disk": partial(allowed, disk=True),
    "approved": approved,
    "approved, on a disk": partial(approved, disk=True),
    "approved, resumed from the log": partial(approved, resumes=True),
    "denied": denied,
}


def assert_clean(report: crashsim.Report) -> None:
    total = report.check().total
    assert (total.double, total.lost, total.guessed, total.uncertain, total.not_ended, total.failed) == (0,) * 6


BATCHES = (
    "begin",
    "append run.started, model.output of step 0, action.intent of step 0",
    "conclude action.result of step 0, model.output of step 1, final of step 1",
)
"""The writes of a submission that is allowed, in a store that takes batches."""


def places(report: crashsim.Report, *parts: str) -> list[str]:
    """The points with one of these parts at which a worker was killed, in their order."""
    return [row.places[0] for row in report.rows[1:] if any(part in row.places[0] for part in parts)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_submission_killed_at_every_point_happens_once_with_one_record(name: str) -> None:
    report = crashsim.campaign(SCENARIOS[name])
    assert report.complete
    assert report.runs == report.points + 1 > (15 if name == "on a disk" else 25)
    assert_clean(report)


def test_on_a_disk_the_points_are_around_three_writes_the_tool_and_the_records_of_the_log() -> None:
    report = crashsim.campaign(SCENARIOS["on a disk"])
    sides = [f"{side} store.{batch}" for batch in BATCHES for side in ("before", "after")]
    inside = ["in pay, before it begins", "in pay, after its end"]
    assert places(report, "store.", "in pay") == ["before store.load", *sides[:4], *inside, *sides[4:]]
    assert len(places(report, "Recorder._append")) == 2


def test_the_effects_and_the_record_are_counted() -> None:
    outcome = crashsim.replay(allowed, "undisturbed").outcome
    assert outcome.counts == {"pay 40": 1, "record ok": 1, "log intact": 1}
    assert crashsim.replay(denied, "undisturbed").outcome.counts == {"record denied": 1, "log intact": 1}


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["submitted again", "on a disk", "approved, resumed from the log"])
def test_two_kills_in_a_row_change_nothing(name: str) -> None:
    assert_clean(crashsim.campaign(SCENARIOS[name], kills=2, limit=400))


@pytest.mark.parametrize("name", ["submitted again", "resumed from the log", "on a disk", "denied"])
def test_a_worker_that_was_stopped_does_not_change_the_record_of_another(name: str) -> None:
    report = crashsim.campaign(SCENARIOS[name], kills=0, workers=2, stop_in_tools=False, limit=400)
    assert_clean(report)


def test_without_a_reconciler_an_uncertain_submission_is_never_repeated() -> None:
    report = crashsim.campaign(unreconciled)
    assert report.double == 0
    uncertain = [row for row in report.rows if row.uncertain]
    assert uncertain
    assert {row.status for row in uncertain} == {"suspended"}
